"""What every slot was told since its episode began: enough to bring it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import PoolError
from parcade.pool.stepping import Actions

Slots = npt.NDArray[np.int64]
FIRST_ROOM = 64  # steps a log holds before it grows


class Journal:
    """Per slot: the episode under way and its actions so far.

    A group's actions are kept as they come, one row per step for all its slots; a slot only notes at which row its
    episode began. So a fragment costs one copy, whatever the number of slots. ``rows`` are a block's actions.
    """

    def __init__(self, rows: dict[str, npt.NDArray[Any]], groups: Sequence[Slots]) -> None:
        n_slots = sum(len(slots) for slots in groups)
        self.episode = np.zeros(n_slots, np.int64)
        self._begun = np.zeros(n_slots, np.int64)  # the log's row at which the slot's episode began
        self._groups = groups
        self._steps = [0] * len(groups)  # rows in use of each log
        self._room = [FIRST_ROOM] * len(groups)
        self._leaves = {leaf: (array.shape[2:], array.dtype) for leaf, array in rows.items()}
        self._logs = [self._fresh(len(slots), FIRST_ROOM) for slots in groups]
        self._place = {int(slot): (g, at) for g, slots in enumerate(groups) for at, slot in enumerate(slots)}
        self.length_at_mark = self.length  # steps each slot's episode had taken when the present rollout began
        self._marked = [0] * len(groups)  # the row of each log at which it began
        self._begun_at_mark, self._episode_at_mark = self._begun.copy(), self.episode.copy()

    def _fresh(self, n_slots: int, room: int) -> dict[str, npt.NDArray[Any]]:
        return {leaf: np.zeros((room, n_slots, *shape), dtype) for leaf, (shape, dtype) in self._leaves.items()}

    def append(self, group: int, rows: dict[str, npt.NDArray[Any]], ended: npt.NDArray[Any], episodes: Slots) -> None:
        """Note steps (n, slots, ...) of a group: the actions, where episodes ended, and which one each slot is in."""
        n_steps = len(ended)
        if self._steps[group] + n_steps > self._room[group]:
            self._make_room(group, n_steps)
        first = self._steps[group]
        for leaf, log in self._logs[group].items():
            log[first : first + n_steps] = rows[leaf]
        self._steps[group] = first + n_steps
        over = ended.any(0)
        if over.any():
            slots, last = self._groups[group][over], n_steps - 1 - ended[::-1, over].argmax(0)
            self._begun[slots] = first + last + 1
            self.episode[slots] = episodes[-1, over]

    def _make_room(self, group: int, n_steps: int) -> None:
        """Forget rows before the oldest episode under way; grow if that leaves less than half free."""
        slots, steps = self._groups[group], self._steps[group]
        oldest = int(self._begun[slots].min())
        kept = steps - oldest
        room = max(self._room[group], 2 * (kept + n_steps))
        fresh = self._fresh(len(slots), room)
        for leaf, log in self._logs[group].items():
            fresh[leaf][:kept] = log[oldest:steps]
        self._logs[group], self._room[group], self._steps[group] = fresh, room, kept
        self._begun[slots] -= oldest

    @property
    def length(self) -> npt.NDArray[np.int64]:
        """Steps each slot's episode has taken so far."""
        ends = np.empty_like(self._begun)
        for slots, steps in zip(self._groups, self._steps, strict=True):
            ends[slots] = steps
        return ends - self._begun

    def mark(self, n_steps: int) -> None:
        """Note that a rollout of ``n_steps`` begins here; until the next mark ``ended`` finds what its episodes did."""
        for group, steps in enumerate(self._steps):
            if steps + n_steps > self._room[group]:
                self._make_room(group, n_steps)  # now, so that no row moves in the middle of the rollout
        self.length_at_mark, self._marked = self.length, list(self._steps)
        self._begun_at_mark, self._episode_at_mark = self._begun.copy(), self.episode.copy()

    def ended(self, slot: int, row: int, length: int) -> Actions:
        """Return the ``length`` actions of an episode that ended with ``row`` of the marked rollout."""
        group, at = self._place[slot]
        stop = self._marked[group] + row + 1
        return {leaf: log[stop - length : stop, at].copy() for leaf, log in self._logs[group].items()}

    def begin_anew(self, episodes: Slots | int) -> None:
        """Note that every slot stands at the start of an episode."""
        self.episode[:] = episodes
        self._steps = [0] * len(self._groups)
        self._begun[:] = 0

    def skip_to(self, episodes: Slots) -> None:
        """Note in which episode every slot really is: one that had to be skipped has no action yet."""
        for group, slots in enumerate(self._groups):
            changed = slots[self.episode[slots] != episodes[slots]]
            self.episode[changed] = episodes[changed]
            self._begun[changed] = self._steps[group]

    def actions(self, slot: int) -> Actions:
        """Return a slot's actions of its episode."""
        group, at = self._place[slot]
        rows = slice(int(self._begun[slot]), self._steps[group])
        return {leaf: log[rows, at].copy() for leaf, log in self._logs[group].items()}

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays, a row per slot, whatever the groups."""
        return self._dumped(self.episode, self._begun, self.length)

    def dump_at_mark(self) -> dict[str, npt.NDArray[Any]]:
        """Return what ``dump`` would have returned when the marked rollout began."""
        return self._dumped(self._episode_at_mark, self._begun_at_mark, self.length_at_mark)

    def _dumped(self, episode: Slots, begun: Slots, length: Slots) -> dict[str, npt.NDArray[Any]]:
        dumped = {"episode": episode.copy(), "length": length.copy()}
        for leaf, (shape, dtype) in self._leaves.items():
            rows = np.zeros((len(length), int(length.max(initial=0)), *shape), dtype)
            for slot, (group, at) in self._place.items():
                rows[slot, : length[slot]] = self._logs[group][leaf][begun[slot] : begun[slot] + length[slot], at]
            dumped[f"actions:{leaf}"] = rows
        return dumped

    def load(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take what ``dump`` returned."""
        self._check(arrays)
        length = arrays["length"]
        self.episode[:] = arrays["episode"]
        for group, slots in enumerate(self._groups):
            steps = int(length[slots].max(initial=0))
            room = max(FIRST_ROOM, 2 * steps)
            self._logs[group], self._room[group], self._steps[group] = self._fresh(len(slots), room), room, steps
            self._begun[slots] = steps - length[slots]
            for leaf, log in self._logs[group].items():
                for at, slot in enumerate(slots):  # every episode ends at the log's last row
                    log[steps - length[slot] : steps, at] = arrays[f"actions:{leaf}"][slot, : length[slot]]

    def _check(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        found = len(arrays["episode"])
        if found != len(self.episode):
            raise PoolError(f"the dump holds {found} slots, this pool has {len(self.episode)}; use the same n_envs")
        missing = [leaf for leaf in self._leaves if f"actions:{leaf}" not in arrays]
        if missing:
            raise PoolError(f"the dump has no actions for {', '.join(missing)}; it comes from another env")
        for leaf, (shape, dtype) in self._leaves.items():
            actions = arrays[f"actions:{leaf}"]
            if actions.dtype != dtype or actions.shape[2:] != shape:
                raise PoolError(f"the dump's actions are {actions.dtype}, wanted {dtype}; it comes from another env")
