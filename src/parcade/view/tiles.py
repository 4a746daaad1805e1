"""What an env showed, as pictures a person can look at."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.env.picture_file import SUFFIX, PictureReader, Shown

Picture = npt.NDArray[np.uint8]  # (height, width, 3)

_BACK, _ZERO, _PLUS, _MINUS = (24, 26, 30), (70, 74, 80), (120, 190, 255), (255, 160, 90)
_BORDER = (90, 60, 110)  # between frames of a stack, and between what belongs apart
BORDER = 2
_BAR_HEIGHT = 96


class Gallery:
    """The latest of every env that writes to ``folder``, in the order of their names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[str, PictureReader] = {}

    def news(self) -> dict[str, Shown]:
        """Return what is new, by file name."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            if path.name not in self._readers:
                self._readers[path.name] = PictureReader(path)
        found = {name: reader.read() for name, reader in self._readers.items()}
        return {name: shown for name, shown in found.items() if shown is not None}

    def close(self) -> None:
        """Close all files."""
        for reader in self._readers.values():
            reader.close()


def policys_view(shown: Shown) -> Picture:
    """Return all the policy sees as one picture: pictures as they are, numbers as bars, side by side."""
    parts = [_part(array, shown.channels) for array in shown.seen.values()]
    height = max(part.shape[0] for part in parts)
    return _joined([_padded(part, height) for part in parts], axis=1)


def _part(array: npt.NDArray[Any], channels: int) -> Picture:
    if array.dtype == np.uint8 and array.ndim == 3:
        return frames_side_by_side(array, channels)
    return bars(np.ravel(np.asarray(array, np.float64)))


def frames_side_by_side(stack: Picture, channels: int) -> Picture:
    """Return a stack (frames * channels, height, width) as one picture: row by row, lines between, the oldest first."""
    frames = [_coloured(stack[first : first + channels]) for first in range(0, len(stack), channels)]
    columns = math.ceil(math.sqrt(len(frames)))
    black = np.zeros_like(frames[0])
    rows = [frames[first : first + columns] for first in range(0, len(frames), columns)]
    return _joined([_joined(row + [black] * (columns - len(row)), axis=1) for row in rows], axis=0)


def _joined(pictures: list[Picture], axis: int) -> Picture:
    """Return the pictures side by side (axis 1) or one below the other (axis 0), with a line between them."""
    height, width, _ = pictures[0].shape
    line = np.full((height, BORDER, 3) if axis else (BORDER, width, 3), _BORDER, np.uint8)
    parts = [part for picture in pictures for part in (line, picture)]
    return np.concatenate(parts[1:], axis=axis)


def _coloured(planes: Picture) -> Picture:
    if len(planes) >= 3:
        return np.ascontiguousarray(planes[:3].transpose(1, 2, 0))
    return np.repeat(planes[0][..., None], 3, axis=2)


def bars(values: npt.NDArray[np.float64]) -> Picture:
    """Return numbers as bars, up from the middle if positive and down if negative; 1 and more fills the half."""
    width = max(1, 96 // max(1, len(values)))
    picture = np.full((_BAR_HEIGHT, width * max(1, len(values)), 3), _BACK, np.uint8)
    middle = _BAR_HEIGHT // 2
    picture[middle] = _ZERO
    for index, value in enumerate(np.nan_to_num(values, posinf=1.0, neginf=-1.0)):
        length = round(min(1.0, abs(float(value))) * (middle - 1))
        columns = slice(index * width, (index + 1) * width - (width > 2))
        if value > 0:
            picture[middle - length : middle, columns] = _PLUS
        else:
            picture[middle + 1 : middle + 1 + length, columns] = _MINUS
    return picture


def _padded(part: Picture, height: int) -> Picture:
    missing = height - part.shape[0]
    return np.pad(part, ((0, missing), (0, 0), (0, 0)))
