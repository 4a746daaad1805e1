"""One slot's life: begin, step, replay, cut. The same code runs in workers and in the serial pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.env.slot import WHOLE, Rows, SlotEnv, read_leaves
from parcade.errors import EnvError
from parcade.pool.lifecycle import IN_RESET
from parcade.pool.seeding import episode_seed
from parcade.pool.slab import Slab

Actions = dict[str, npt.NDArray[Any]]  # leaf name -> (steps, ...) of one slot


class SlotRunner:
    """Steps one env into its row of the slab.

    A step has two halves, ``press`` (the emulator runs) and ``settle`` (its memory is read, the row is written). A
    worker lets all its consoles run first and settles then: the emulator pushes Python out of the processor's cache,
    and so it comes back once for all slots instead of once for each.
    """

    def __init__(self, env: SlotEnv, slab: Slab, slot: int, worker: int, run_seed: int) -> None:
        self.env, self.slot, self.run_seed = env, slot, run_seed
        self._obs = {leaf: array[slot] for leaf, array in _rows(slab.leaves("obs"))}
        self._final = {leaf: array[slot] for leaf, array in _rows(slab.leaves("final"))}
        self._actions = {leaf: array[slot] for leaf, array in _rows(slab.leaves("action"))}
        # Single numbers go through memoryviews: a third of the cost of an array's item.
        numbers: dict[str, Any] = {name: array.data for name, array in slab.arrays.items() if array.ndim == 1}
        self._reward, self._terminated, self._truncated = (
            numbers["reward"],
            numbers["terminated"],
            numbers["truncated"],
        )
        self._episode_return, self._episode_length = numbers["episode_return"], numbers["episode_length"]
        self._running_return, self._running_length = numbers["running_return"], numbers["running_length"]
        self._episode, self._steps_done = numbers["episode"], numbers["steps_done"]
        self._beats, self._current, self._worker = numbers["beats"], numbers["current_slot"], worker
        self._metrics = slab.arrays["metrics"]
        self._press: Callable[[Any], None] | None = getattr(env, "press", None)
        self._settle: Callable[[Rows], tuple[float, bool, bool]] | None = getattr(env, "settle", None)
        self._choices = numbers[f"action:{WHOLE}"] if isinstance(env.action_space, spaces.Discrete) else None
        self._return, self._length = 0.0, 0
        self.doomed = False  # the next step is cut instead of taken
        self.poisoned: frozenset[tuple[int, int]] = frozenset()  # (slot, episode) that are never begun

    @property
    def has_halves(self) -> bool:
        """Whether ``press`` does anything."""
        return self._press is not None

    def begin(self, episode: int) -> None:
        """Start an episode (the next one that is not poisoned) and write its first observation."""
        slot = self.slot
        while (slot, episode) in self.poisoned:
            episode += 1
        self._current[self._worker] = slot
        self._episode[slot] = episode
        self._running_length[slot] = IN_RESET  # a death from here on is a death in reset
        self.env.begin(episode_seed(self.run_seed, slot, episode), self._obs)
        self._return, self._length = 0.0, 0
        self._running_return[slot], self._running_length[slot] = 0.0, 0
        self._beats[self._worker] += 1

    def step(self) -> None:
        """Take the row's action; an episode that ends is followed by the next one at once."""
        self.press()
        self.settle()

    def press(self) -> None:
        """Take the first half of a step, if the env's steps have halves."""
        if self._press is None or self.doomed:
            return
        self._current[self._worker] = self.slot
        self._press(self._chosen())
        self._beats[self._worker] += 1

    def settle(self) -> None:
        """Take the rest of the step and write the row."""
        if self.doomed:
            self.cut()
            return
        slot = self.slot
        self._current[self._worker] = slot
        if self._settle is None:
            reward, terminated, truncated = self.env.advance(self._chosen(), self._obs)
        else:
            reward, terminated, truncated = self._settle(self._obs)
        self._count(reward)
        self._reward[slot] = reward
        self._terminated[slot], self._truncated[slot] = 1 if terminated else 0, 1 if truncated else 0
        if terminated or truncated:
            self._finish()
        self._beats[self._worker] += 1
        self._steps_done[slot] += 1

    def cut(self) -> None:
        """End the episode here without a step: the one that was asked for kills the worker again and again."""
        slot = self.slot
        self._current[self._worker] = slot
        self.doomed = False
        self._reward[slot], self._terminated[slot], self._truncated[slot] = 0.0, 0, 1
        self._finish()
        self._beats[self._worker] += 1
        self._steps_done[slot] += 1

    def replay(self, episode: int, actions: Actions, doomed: bool = False) -> None:
        """Bring the slot to where ``actions`` lead from the start of ``episode``; only the observation is written.

        ``doomed``: the slot's next step will be cut, because what comes after these actions kills the worker.
        """
        self.doomed = doomed
        self.begin(episode)
        steps = len(next(iter(actions.values())))
        for index in range(steps):
            action = self._action({leaf: array[index] for leaf, array in actions.items()})
            reward, terminated, truncated = self.env.advance(action, self._obs)
            self._count(reward)
            self._beats[self._worker] += 1
            if (terminated or truncated) and not doomed:
                raise EnvError(
                    f"the replay of episode {episode} ended at step {index + 1} of {steps}, but the episode had not; "
                    "the env is not a function of its seed and actions"
                )

    def _count(self, reward: float) -> None:
        self._return += reward
        self._length += 1
        self._running_return[self.slot], self._running_length[self.slot] = self._return, self._length

    def _finish(self) -> None:
        slot = self.slot
        for leaf, row in self._obs.items():
            self._final[leaf][...] = row
        self._episode_return[slot], self._episode_length[slot] = self._return, self._length
        if self._metrics.shape[1]:
            self._metrics[slot] = self.env.episode_metrics()
        self.begin(self._episode[slot] + 1)

    def _chosen(self) -> Any:
        """Return the action now in the slot's row."""
        return self._action(self._actions) if self._choices is None else self._choices[self.slot]

    def _action(self, rows: Actions) -> Any:
        if self._choices is not None:
            return int(next(iter(rows.values())))
        return _owned(self.env.action_space, read_leaves(self.env.action_space, rows))


def _owned(space: spaces.Space[Any], value: Any) -> Any:
    """Return an action the env may keep: rows of the slab change with the next one."""
    if isinstance(space, spaces.Dict):
        return {key: _owned(part, value[key]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_owned(part, value[index]) for index, part in enumerate(space.spaces))
    return int(value) if isinstance(space, spaces.Discrete) else np.array(value)


def _rows(arrays: dict[str, npt.NDArray[Any]]) -> list[tuple[str, npt.NDArray[Any]]]:
    """Give scalar rows a shape that stays writable: ``array[slot]`` of a 1-axis array would be a copy."""
    return [(leaf, array if array.ndim > 1 else _ScalarRows(array)) for leaf, array in arrays.items()]  # type: ignore[misc]


class _ScalarRows:
    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array

    def __getitem__(self, slot: int) -> npt.NDArray[Any]:
        return self._array[slot : slot + 1].reshape(())
