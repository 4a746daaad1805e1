"""Some neighbouring slots of a block, as the learner sees a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcade.pool.actor import Array
from parcade.pool.block import Block


class BlockPart:
    """The rows of ``slots``, each array in one piece: nothing tells whether there were other slots beside them.

    Where the slots are all of the block's, nothing is copied.
    """

    def __init__(self, block: Block, slots: range) -> None:
        self._block, self._first = block, slots.start
        self.n_steps, self.n_envs = block.n_steps, len(slots)
        part = slice(slots.start, slots.stop)

        def cut(array: Array) -> Array:
            return np.ascontiguousarray(array[:, part])

        self.obs = {leaf: cut(rows) for leaf, rows in block.obs.items()}
        self.drawn, self.reward = cut(block.drawn), cut(block.reward)
        self.terminated, self.truncated = cut(block.terminated), cut(block.truncated)
        self.memory, self.params, self.value = cut(block.memory), cut(block.params), cut(block.value)

    @property
    def env_steps(self) -> int:
        """Steps the part holds, summed over slots."""
        return int(self.n_steps * self.n_envs)

    @property
    def ended(self) -> Array:
        """(T, N): where an episode ended with the step, either way."""
        return self.terminated | self.truncated

    def final_of(self, t: int, slot: int) -> dict[str, Any]:
        """Return the last observation of the episode that ended at ``t``, by leaf name."""
        return self._block.final_of(t, self._first + slot)
