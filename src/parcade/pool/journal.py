"""What every slot was told since its episode began: enough to bring it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.pool.stepping import Actions


class Journal:
    """Per slot: the episode under way and its actions so far."""

    def __init__(self, rows: dict[str, npt.NDArray[Any]], n_slots: int) -> None:
        self.episode = np.zeros(n_slots, np.int64)
        self.length = np.zeros(n_slots, np.int64)
        self._actions = {leaf: np.zeros((n_slots, 64, *array.shape[1:]), array.dtype) for leaf, array in rows.items()}

    def append(self, slots: slice, rows: dict[str, npt.NDArray[Any]]) -> None:
        """Note that the slots were sent the actions now in ``rows`` (their own rows only)."""
        length = self.length[slots]
        longest = int(length.max()) + 1
        indices = np.arange(len(self.length))[slots]
        for leaf, log in self._actions.items():
            if longest > log.shape[1]:
                self._actions[leaf] = log = np.concatenate([log, np.zeros_like(log)], axis=1)
            log[indices, length] = rows[leaf]
        self.length[slots] += 1

    def finish(self, slots: npt.NDArray[np.int64], episodes: npt.NDArray[np.int64]) -> None:
        """Note that the episodes of ``slots`` ended and that ``episodes`` began."""
        self.episode[slots] = episodes
        self.length[slots] = 0

    def starts(self) -> dict[int, tuple[int, Actions]]:
        """Return where every slot stands: its episode and the actions since its start."""
        return {slot: (int(episode), self.actions(slot)) for slot, episode in enumerate(self.episode)}

    def actions(self, slot: int, steps: int | None = None) -> Actions:
        """Return a slot's first ``steps`` actions of its episode (all of them by default)."""
        count = int(self.length[slot]) if steps is None else steps
        return {leaf: log[slot, :count].copy() for leaf, log in self._actions.items()}

    def dump(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays."""
        longest = int(self.length.max(initial=0))
        actions = {f"actions:{leaf}": log[:, :longest].copy() for leaf, log in self._actions.items()}
        return {"episode": self.episode.copy(), "length": self.length.copy(), **actions}

    def load(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take what ``dump`` returned."""
        self.episode[:], self.length[:] = arrays["episode"], arrays["length"]
        for leaf, log in self._actions.items():
            kept = arrays[f"actions:{leaf}"]
            width = max(log.shape[1], kept.shape[1])
            self._actions[leaf] = np.zeros((len(log), width, *log.shape[2:]), log.dtype)
            self._actions[leaf][:, : kept.shape[1]] = kept
