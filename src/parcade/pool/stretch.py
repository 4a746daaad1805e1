"""A stretch: steps that slots take by themselves, with a player beside the envs that chooses their actions.

Nobody waits for anybody until it is over. What happened stands in a second shared block, a row per step and slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from gymnasium import spaces

from parcade.env.slot import write_leaves
from parcade.errors import SettingsError
from parcade.pool.grouping import GroupedRows
from parcade.pool.layout import SlabLayout, place_fields
from parcade.pool.protocol import Array, Player, StretchRows
from parcade.pool.slab import Slab
from parcade.pool.stepping import Actions, SlotRunner

_ALWAYS = ("reward", "terminated", "truncated", "episode")  # kept of every step
_AT_ENDS = ("episode_return", "episode_length", "metrics")  # kept where an episode ended


@dataclass(frozen=True, slots=True)
class Play:
    """The command: take the stretch's steps from ``first`` on, then ring."""

    path: str
    layout: SlabLayout
    player: bytes  # cloudpickled, as envs are: it may come from the user's own script
    n_steps: int
    first: int = 0


def plan_track(slab: Slab, n_steps: int, n_weights: int) -> SlabLayout:
    """Return the layout of what ``n_steps`` steps of all slots leave behind, and of what the player needs."""
    of_slots, wanted = slab.layout, []
    for prefix, rows in (("obs", n_steps + 1), ("final", n_steps), ("action", n_steps)):
        for leaf, array in slab.leaves(prefix).items():
            wanted.append((f"{prefix}:{leaf}", (rows, *array.shape), array.dtype.str))
    for name in (*_ALWAYS, *_AT_ENDS):
        array = slab.arrays[name]
        wanted.append((name, (n_steps, *array.shape), array.dtype.str))
    wanted += [("weights", (n_weights,), "<f4"), ("seed", (1,), "<i8")]
    wanted.append(("taken", (of_slots.n_workers,), "<i8"))  # steps each worker has finished, written last
    return place_fields(wanted, of_slots.n_slots, of_slots.n_workers, of_slots.metric_names)


class StretchRunner:
    """Takes the steps of one worker's slots and keeps what they wrote."""

    def __init__(self, runners: Sequence[SlotRunner], slab: Slab, track: Slab, worker: int) -> None:
        self._slots = range(runners[0].slot, runners[-1].slot + 1)
        self._space = space = runners[0].env.action_space
        self._range: tuple[int, int] | None = None
        if isinstance(space, spaces.Discrete):
            self._range = int(space.start), int(space.start + space.n) - 1
        self._track, self._worker, self._current = track, worker, slab.arrays["current_slot"].data
        self._presses = [runner.press for runner in runners if runner.has_halves]
        self._settles = [runner.settle for runner in runners]
        part = slice(self._slots.start, self._slots.stop)
        arrays, kept = slab.arrays, track.arrays
        self._obs = {leaf: rows[part] for leaf, rows in slab.leaves("obs").items()}
        self._actions = {leaf: rows[part] for leaf, rows in slab.leaves("action").items()}
        self._flags = [arrays[name].data[part] for name in ("terminated", "truncated")]
        always = [*_ALWAYS, *(name for name in arrays if name.startswith("action:"))]
        at_ends = [*_AT_ENDS, *(name for name in arrays if name.startswith("final:"))]
        self._always = [(kept[name][:, part], arrays[name][part]) for name in always]
        self._at_ends = [(kept[name][:, part], arrays[name][part]) for name in at_ends]
        self._seen = [(kept[name][:, part], arrays[name][part]) for name in arrays if name.startswith("obs:")]

    def run(self, player: Player, first: int, n_steps: int) -> None:
        """Take the steps from ``first`` on."""
        kept, taken, worker = self._track.arrays, self._track.arrays["taken"].data, self._worker
        self._current[worker] = -1
        choose = player.prepare(kept["weights"], int(kept["seed"][0]), self._slots, n_steps)
        for target, source in self._seen:
            target[first] = source
        for step in range(first, n_steps):
            write_leaves(self._space, self._checked(choose(step, self._obs)), self._actions)
            for press in self._presses:
                press()
            for settle in self._settles:
                settle()
            for target, source in self._always:
                target[step] = source
            for target, source in self._seen:
                target[step + 1] = source
            if any(1 in flag.tobytes() for flag in self._flags):
                for target, source in self._at_ends:
                    target[step] = source
            taken[worker] = step + 1
            self._current[worker] = -1  # what goes wrong until the next press is the player's fault

    def _checked(self, actions: Any) -> Any:
        """Refuse choices that are none: an env may do anything with them."""
        if self._range is None:
            return actions
        least, most = self._range
        actions, n = np.asarray(actions), len(self._slots)
        if actions.shape != (n,) or actions.dtype.kind not in "iu":
            raise ValueError(f"it chose {actions.dtype} of shape {actions.shape}, wanted {n} whole numbers")
        if actions.min() < least or actions.max() > most:
            raise ValueError(f"it chose {actions.tolist()}, wanted numbers from {least} to {most}")
        return actions


class Stretch:
    """A stretch as the pool sees it: hands it out, knows how far each worker came, notes it when it is over."""

    def __init__(self, slab: Slab, groups: GroupedRows, player: Player, n_steps: int) -> None:
        self._groups, self._player, self.n_steps = groups, player, n_steps
        self._packed = bytes(cloudpickle.dumps(player))
        self.track = Slab.create(plan_track(slab, n_steps, player.n_weights))
        arrays = self.track.arrays
        self._counted = np.zeros(len(arrays["taken"]), np.int64)
        self.rows = StretchRows(
            self.track.leaves("obs"),
            self.track.leaves("action"),
            arrays["reward"],
            arrays["terminated"].view(np.bool_),
            arrays["truncated"].view(np.bool_),
            self.track.leaves("final"),
            arrays["episode_return"],
            arrays["episode_length"],
            arrays["metrics"],
        )

    @classmethod
    def following(
        cls, before: Stretch | None, slab: Slab, groups: GroupedRows, player: Player, n_steps: int
    ) -> Stretch:
        """Return the stretch before where its block serves again, else a new one in its place."""
        if not isinstance(n_steps, int | np.integer) or n_steps < 1:
            raise SettingsError(f"n_steps is {n_steps!r}, wanted a whole number from 1 on")
        if before is not None and before.n_steps == n_steps and before._player == player:
            return before
        if before is not None:
            before.close()
        return cls(slab, groups, player, n_steps)

    def begin(self, weights: Array, seed: int) -> None:
        """Lay out what the player needs; nobody has taken a step yet."""
        arrays = self.track.arrays
        weights = np.asarray(weights)
        if weights.shape != arrays["weights"].shape or weights.dtype.kind not in "fiu":
            found = f"{weights.dtype} of shape {weights.shape}"
            raise SettingsError(f"the player wants {len(arrays['weights'])} numbers as weights, got {found}")
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 63:
            raise SettingsError(f"the player's seed is {seed!r}, wanted a whole number from 0 to 2**63 - 1")
        self._groups.begin_stretch()
        arrays["weights"][:], arrays["seed"][0] = weights, seed
        arrays["taken"][:] = self._counted[:] = 0

    def command(self, worker: int) -> Play:
        """Return what a worker is told, from the step on that it has not finished."""
        first = int(self.track.arrays["taken"][worker])
        return Play(str(self.track.path), self.track.layout, self._packed, self.n_steps, first)

    def newly_taken(self, worker: int) -> int:
        """Return how many steps the worker has finished since this was last asked."""
        taken = int(self.track.arrays["taken"][worker])
        new, self._counted[worker] = taken - int(self._counted[worker]), taken
        return new

    def place(self, slot: int, worker: int) -> tuple[int, Actions]:
        """Return a slot's episode and the actions it has taken in it, up to the last step its worker finished."""
        journal, taken = self._groups.journal, int(self.track.arrays["taken"][worker])
        ends = np.flatnonzero(self.rows.terminated[:taken, slot] | self.rows.truncated[:taken, slot])
        if len(ends):
            begun = int(ends[-1]) + 1
            episode = int(self.track.arrays["episode"][begun - 1, slot])
            return episode, {leaf: rows[begun:taken, slot].copy() for leaf, rows in self.rows.actions.items()}
        before = journal.actions(slot)
        actions = {leaf: np.concatenate([before[leaf], rows[:taken, slot]]) for leaf, rows in self.rows.actions.items()}
        return int(journal.episode[slot]), actions

    def finish(self) -> StretchRows:
        """Note in the journal what the slots did, and return it."""
        ended = self.rows.terminated | self.rows.truncated
        self._groups.finish_stretch(self.rows.actions, ended, self.track.arrays["episode"])
        return self.rows

    def close(self) -> None:
        """Remove the block."""
        self.track.close()
