"""One slot's life: begin, step, replay, cut. The same code runs in workers and in the serial pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
from gymnasium import spaces

from parcade.env.make import make
from parcade.env.slot import WHOLE, Rows, SlotEnv, as_slot_env, fresh_rows, owned_action, read_leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError
from parcade.pool.actor import Array
from parcade.pool.block import NEW, Block
from parcade.pool.lifecycle import IN_RESET
from parcade.pool.seeding import Episodes, Start

Actions = dict[str, npt.NDArray[Any]]  # leaf name -> (steps, ...) of one slot


def make_slot_env(spec: EnvSpec, slot: int) -> SlotEnv:
    """Return a slot's env; the spec of a part of the slots says at which slot of all it begins."""
    return as_slot_env(make(spec.with_(slot=(spec.slot or 0) + slot)), spec.info_keys)


class SlotRunner:
    """Steps one env into its rows of the block.

    A step has two halves, ``emulate`` (the console runs) and ``observe`` (memory is read, the row is written). A
    worker lets all its consoles run first: the emulator pushes Python out of the processor's cache, and so it comes
    back once for all slots instead of once for each.
    """

    def __init__(
        self, env: SlotEnv, slot: int, worker: int, episodes: Episodes, status: Mapping[str, Array], block: Block
    ) -> None:
        self.env, self.slot, self.episodes = env, slot, episodes
        self.final_info: Mapping[str, Any] = {}  # of the episode that ended last
        # Single numbers go through memoryviews: a third of the cost of an array's item.
        numbers: dict[str, Any] = {name: array.data for name, array in status.items() if array.ndim == 1}
        self._running_return, self._running_length = numbers["running_return"], numbers["running_length"]
        self._episode, self._episode_seed = numbers["episode"], numbers["episode_seed"]
        trackers = getattr(env, "trackers", {})  # of milestones, by their name in the status
        self._reached = {name: (numbers[name], tracker) for name, tracker in trackers.items()}
        self._beats, self._current, self._worker = numbers["beats"], numbers["current_slot"], worker
        self._emulate: Callable[[Any], None] | None = getattr(env, "emulate", None)
        self._observe: Callable[[Rows], tuple[float, bool, bool]] | None = None
        if self._emulate is not None:
            self._observe = env.observe  # type: ignore[attr-defined]
        self._is_choice = isinstance(env.action_space, spaces.Discrete)
        self._scratch = fresh_rows(env.observation_space)
        self._return, self._length, self._begun_with = 0.0, 0, 0
        self.parked = False  # the slot has no episode left to play
        self.doomed = False  # the next step is cut instead of taken
        self.poisoned: frozenset[tuple[int, int]] = frozenset()  # (slot, episode) that are never begun
        self.attach(block)

    def attach(self, block: Block) -> None:
        """Write into ``block`` from now on."""
        self._block, self._obs, self._actions = block, block.obs, block.action
        numbers: dict[str, Any] = {name: array.data for name, array in block.mapped.arrays.items() if array.ndim == 2}
        self._reward, self._number = numbers["reward"], numbers["episode"]
        self._terminated, self._truncated = numbers["terminated"], numbers["truncated"]
        self._choices: Any = block.action[WHOLE].data if self._is_choice else None
        self._cells: Any = numbers.get("cell")
        told = self._reached if self._cells is not None else {}
        self._new = [(numbers[f"{NEW}{name}"], *both) for name, both in told.items()]

    @property
    def info(self) -> Mapping[str, Any]:
        """What the env told last."""
        found: Mapping[str, Any] = getattr(self.env, "last_info", {})
        return found

    @property
    def has_halves(self) -> bool:
        """Whether ``emulate`` does anything."""
        return self._emulate is not None

    def is_fresh(self) -> bool:
        """Whether no step of the present episode was taken yet."""
        return self._length == 0

    def progress(self) -> dict[str, Any]:
        """Return which episode is under way and how far, for viewers."""
        slot = self.slot
        number, seed = self._episode[slot], self._episode_seed[slot]
        told = {"episode": number, "seed": seed, "step": self._length, "return": self._return}
        return {**told, "begun_with": self._begun_with}

    def note_play(self, what: str) -> None:
        """Note what comes in play that counts for nothing: a death in its reset is one at an episode's start."""
        is_reset = what.startswith("reset")
        self._current[self._worker] = self.slot if is_reset else -1
        if is_reset:
            self._running_length[self.slot] = IN_RESET
        self._beats[self._worker] += 1

    def begin(self, episode: int, rows: Rows) -> None:
        """Start an episode (the next one that is not poisoned) and write its first observation into ``rows``."""
        slot = self.slot
        while (slot, episode) in self.poisoned:
            episode += 1
        self._current[self._worker] = slot
        self._episode[slot] = episode
        seed = self.episodes.seed(slot, episode)
        self.parked = seed is None
        self._running_length[slot] = IN_RESET  # a death from here on is a death in reset
        if seed is not None:
            self._episode_seed[slot] = seed
            options_of, start_of = getattr(self.episodes, "options", None), getattr(self.episodes, "start", None)
            options = None if options_of is None else options_of(slot, episode)
            start = None if start_of is None else start_of(slot, episode)
            self._follow(episode)
            seed = self._begun_with = seed if start is None else start.seed
            self.env.begin(seed, rows, **({} if options is None else {"options": options}))
            if start is not None:
                self._walk_to(start, rows)
        self._return, self._length = 0.0, 0
        self._running_return[slot], self._running_length[slot] = 0.0, 0
        for reached, tracker in self._reached.values():
            reached[slot] = tracker.reached
        self._beats[self._worker] += 1

    def _follow(self, episode: int) -> None:
        """Have the env follow the version of its guide that the episode is to be played with."""
        guide_of = getattr(self.episodes, "guide", None)
        version = None if guide_of is None else guide_of(self.slot, episode)
        if version is not None:
            self._reached["guide"][1].use(version.number, version.data)

    def _walk_to(self, start: Start, rows: Rows) -> None:
        """Take the steps between the true start and ``start``; none of them counts."""
        for index in range(start.n_steps):
            action = self._action({leaf: array[index] for leaf, array in start.actions.items()})
            _, terminated, truncated = self.env.advance(action, rows)
            self._beats[self._worker] += 1
            if terminated or truncated:
                raise EnvError(
                    f"a start {start.n_steps} steps into the episode with seed {start.seed} lies behind its end (step "
                    f"{index + 1}); the env is not a function of its seed and actions"
                )

    def emulate(self, t: int) -> None:
        """Take the first half of step ``t``, if the env's steps have halves."""
        if self._emulate is None or self.doomed or self.parked:
            return
        self._current[self._worker] = self.slot
        self._emulate(self._chosen(t))
        self._beats[self._worker] += 1

    def observe(self, t: int) -> None:
        """Take the rest of step ``t`` and write its row; an episode that ends is followed by the next one at once."""
        slot, rows = self.slot, self._rows(t + 1)
        self._current[self._worker] = slot
        if self.doomed or self.parked:
            self._stand_still(t, rows)
            return
        if self._observe is None:
            reward, terminated, truncated = self.env.advance(self._chosen(t), rows)
        else:
            reward, terminated, truncated = self._observe(rows)
        for new, reached, tracker in self._new:
            new[t, slot] = tracker.reached & ~reached[slot]
        self._count(reward)
        if self._cells is not None:
            self._cells[t, slot] = self.env.cell_id()  # type: ignore[attr-defined]
        self._write(t, reward, terminated, truncated, rows)

    def _stand_still(self, t: int, rows: Rows) -> None:
        """Cut the episode without a step that would kill the worker again; a parked slot only keeps its row."""
        for leaf, row in rows.items():
            row[...] = self._obs[leaf][t, self.slot]
        is_cut, self.doomed = self.doomed, False
        if self._cells is not None:
            self._cells[t, self.slot] = 0
        for new, _, _ in self._new:
            new[t, self.slot] = 0
        self._write(t, 0.0, False, is_cut, rows)

    def _write(self, t: int, reward: float, terminated: bool, truncated: bool, rows: Rows) -> None:
        slot = self.slot
        self._reward[t, slot] = reward
        if terminated or truncated:
            self._finish(t, rows)
        # Only now: the place of a last observation is counted by the ends before it.
        self._terminated[t, slot], self._truncated[t, slot] = 1 if terminated else 0, 1 if truncated else 0
        self._number[t, slot] = self._episode[slot]
        self._beats[self._worker] += 1

    def _finish(self, t: int, rows: Rows) -> None:
        slot, block = self.slot, self._block
        block.keep_final(t, slot)
        block.ended_episode[t, slot] = self._episode[slot]
        block.episode_return[t, slot], block.episode_length[t, slot] = self._return, self._length
        if block.metric_names:
            block.metrics[t, slot] = self.env.episode_metrics()
        self.final_info = dict(self.info)  # the env may use the same one again
        self.begin(self._episode[slot] + 1, rows)

    def replay(
        self, episode: int, actions: Actions, row: int, *, doomed: bool = False, recorded: float | None = None
    ) -> bool:
        """Bring the slot to where ``actions`` lead from the start of ``episode``; write its observation into ``row``.

        ``doomed``: the slot's next step will be cut, because what comes after these actions kills the worker.
        ``recorded``: the row holds what was seen there before, after this return. Where the env shows or pays something
        else now, it is not a function of its seed and actions: False is returned, the row stays and the slot's next
        step will be cut.
        """
        self.doomed = doomed
        self.begin(episode, self._scratch)
        if self.parked:
            return True  # its last observation still stands in its row
        steps = len(next(iter(actions.values())))
        for index in range(steps):
            action = self._action({leaf: array[index] for leaf, array in actions.items()})
            reward, terminated, truncated = self.env.advance(action, self._scratch)
            self._count(reward)
            self._beats[self._worker] += 1
            if (terminated or truncated) and not doomed:
                if recorded is not None:
                    return self._cut(steps, recorded)
                raise EnvError(
                    f"the replay of episode {episode} ended at step {index + 1} of {steps}, but the episode had not; "
                    "the env is not a function of its seed and actions"
                )
        rows = self._rows(row)
        if recorded is not None and not self._is_as_recorded(rows, recorded):
            return self._cut(steps, recorded)
        for leaf, target in rows.items():
            target[...] = self._scratch[leaf]
        return True

    def _cut(self, length: int, total_reward: float) -> bool:
        """Have the next step cut the episode, which counts with what was handed out of it."""
        self.doomed, self._length, self._return = True, length, total_reward
        return False

    def _is_as_recorded(self, rows: Rows, total_reward: float) -> bool:
        both_nan = self._return != self._return and total_reward != total_reward
        if self._return != total_reward and not both_nan:
            return False
        return all(target.tobytes() == self._scratch[leaf].tobytes() for leaf, target in rows.items())

    def _rows(self, t: int) -> dict[str, npt.NDArray[Any]]:
        slot = self.slot
        return {leaf: array[t, slot, ...] for leaf, array in self._obs.items()}  # the ellipsis: scalars stay writable

    def _count(self, reward: float) -> None:
        self._return += reward
        self._length += 1
        self._running_return[self.slot], self._running_length[self.slot] = self._return, self._length
        for reached, tracker in self._reached.values():
            reached[self.slot] = tracker.reached

    def _chosen(self, t: int) -> Any:
        if self._choices is not None:
            return self._choices[t, self.slot]
        return self._action({leaf: array[t, self.slot] for leaf, array in self._actions.items()})

    def _action(self, rows: Mapping[str, Any]) -> Any:
        if self._is_choice:
            return int(rows[WHOLE])
        return owned_action(self.env.action_space, read_leaves(self.env.action_space, rows))
