"""How shards add up: numbers of all of them side by side, and gradients summed in the order of the shards."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

FloatSK = npt.NDArray[np.float64]  # a row for each shard


class Exchange(Protocol):
    """Everybody who holds shards of a training calls the same methods in the same order, and gets the same bits."""

    n_shards: int
    held: range  # the shards whose numbers come from here

    def gather(self, own: FloatSK) -> FloatSK:
        """Hand over a row for each shard that is held; return the rows of all shards, in their order."""
        ...

    def split_at(self, first: int) -> bool:
        """Note that what follows ``first`` of a gradient is known before the rest; return whether that is of use."""
        ...

    def give_ahead(self, shard: int, gradient: Tensor) -> None:
        """Hand over what follows the split; ``give`` comes later."""
        ...

    def give(self, shard: int, gradient: Tensor) -> None:
        """Hand over the gradient of one shard that is held; of several, it may be overwritten afterwards."""
        ...

    def add_up(self, into: Tensor) -> None:
        """Write the sum of all shards' gradients, added in their order."""
        ...


class LocalExchange:
    """An ``Exchange`` for a process that holds all shards."""

    def __init__(self, n_shards: int) -> None:
        self.n_shards, self.held = n_shards, range(n_shards)
        self._sum: Tensor | None = None

    def gather(self, own: FloatSK) -> FloatSK:
        """Return the rows: there are no others."""
        return own

    def split_at(self, first: int) -> bool:
        """Return False: nothing is sent."""
        return False

    def give_ahead(self, shard: int, gradient: Tensor) -> None:
        """Do nothing: ``give`` has all of it."""

    def give(self, shard: int, gradient: Tensor) -> None:
        """Add a gradient; they come in the order of the shards."""
        if self._sum is None:
            self._sum = torch.empty_like(gradient)
        if shard == 0:
            self._sum.copy_(gradient)
        else:
            self._sum.add_(gradient)

    def add_up(self, into: Tensor) -> None:
        """Write the sum."""
        assert self._sum is not None
        into.copy_(self._sum)
