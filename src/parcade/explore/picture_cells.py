"""Cells told from the picture alone: a tiny grey copy of it, as Go-Explore takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.env.spec import VISITED

HEIGHT, WIDTH, GREYS = 8, 11, 8


def picture_leaf(leaves: Mapping[str, npt.NDArray[Any]]) -> str | None:
    """Return the name of a block's leaf that shows the screen: (T + 1, N, channels, height, width) of uint8."""
    pictures = [name for name, rows in leaves.items() if rows.dtype == np.uint8 and rows.ndim == 5]
    return next((name for name in pictures if name != VISITED), None)


def picture_cells(pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return a number for each of (rows, channels, height, width) pictures; the newest channel is looked at.

    The picture is averaged to 8 x 11 pixels of 8 greys, so small movements stay in a cell and other rooms do not.
    """
    newest = pictures[:, -1]
    top, left = _edges(newest.shape[1], HEIGHT), _edges(newest.shape[2], WIDTH)
    sums = np.add.reduceat(np.add.reduceat(newest.astype(np.int64), top, axis=1), left, axis=2)
    areas = np.outer(_sizes(top, newest.shape[1]), _sizes(left, newest.shape[2]))
    tiny = (sums // areas * GREYS >> 8).astype(np.uint8)
    numbers = (int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=8).digest(), "little") or 1 for row in tiny)
    return np.fromiter(numbers, np.uint64, len(tiny))


def _edges(size: int, parts: int) -> npt.NDArray[np.intp]:
    return np.arange(min(parts, size), dtype=np.intp) * size // min(parts, size)


def _sizes(edges: npt.NDArray[np.intp], size: int) -> npt.NDArray[np.intp]:
    return np.diff(np.append(edges, size))
