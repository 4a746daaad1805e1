"""What every slot was told since its episode began: enough to bring it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import PoolError
from parcade.pool.stepping import Actions

Slots = npt.NDArray[np.int64]


class Journal:
    """Per slot: the episode under way and its actions so far."""

    def __init__(self, rows: dict[str, npt.NDArray[Any]], n_slots: int) -> None:
        self.episode = np.zeros(n_slots, np.int64)
        self.length = np.zeros(n_slots, np.int64)
        self._actions = {leaf: np.zeros((n_slots, 64, *array.shape[1:]), array.dtype) for leaf, array in rows.items()}

    def append(self, slots: Slots, rows: dict[str, npt.NDArray[Any]]) -> None:
        """Note that the slots were sent the actions now in ``rows`` (their own rows only)."""
        length = self.length[slots]
        longest = int(length.max()) + 1
        for leaf, log in self._actions.items():
            if longest > log.shape[1]:
                self._actions[leaf] = log = np.concatenate([log, np.zeros_like(log)], axis=1)
            log[slots, length] = rows[leaf]
        self.length[slots] = length + 1

    def finish(self, slots: Slots, episodes: Slots) -> None:
        """Note that the episodes of ``slots`` ended and that ``episodes`` began."""
        self.episode[slots] = episodes
        self.length[slots] = 0

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
        self._check(arrays)
        self.episode[:], self.length[:] = arrays["episode"], arrays["length"]
        for leaf, log in self._actions.items():
            kept = arrays[f"actions:{leaf}"]
            width = max(log.shape[1], kept.shape[1])
            self._actions[leaf] = np.zeros((len(log), width, *log.shape[2:]), log.dtype)
            self._actions[leaf][:, : kept.shape[1]] = kept

    def _check(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        found = len(arrays["episode"])
        if found != len(self.episode):
            raise PoolError(f"the dump holds {found} slots, this pool has {len(self.episode)}; use the same n_envs")
        missing = [leaf for leaf in self._actions if f"actions:{leaf}" not in arrays]
        if missing:
            raise PoolError(f"the dump has no actions for {', '.join(missing)}; it comes from another env")
