"""Rows of the block as tensors, and how many a kernel needs to treat each alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Matrix kernels treat one to three rows by another road than many; from four rows on a row's result does not depend
# on its neighbours.
FEWEST_ROWS = 4
_WIDER: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.uint16): np.dtype(np.int32),
    np.dtype(np.uint32): np.dtype(np.int64),
}


def as_tensor(array: npt.NDArray[Any]) -> Tensor:
    """Return a view, or a copy in the next wider dtype where torch cannot index this one."""
    wider = _WIDER.get(array.dtype)
    return torch.from_numpy(array if wider is None else array.astype(wider))


def padded(rows: Tensor) -> Tensor:
    """Return at least ``FEWEST_ROWS`` rows, the last one repeated."""
    missing = FEWEST_ROWS - len(rows)
    return rows if missing <= 0 else torch.cat([rows, rows[-1:].expand(missing, *rows.shape[1:])])
