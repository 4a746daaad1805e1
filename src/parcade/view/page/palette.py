"""Colours as small numbers: consoles show few, so a pixel travels as the index of its colour."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint32]
MOST = 65_535
_COARSE = 0x00F8FCF8  # what is left of a colour once there are too many: 5, 6 and 5 bits
_RGB = 0x00FFFFFF


class Palette:
    """Grows by the colours it meets; beyond 65,535 it takes colours coarsely, which then are no more than that.

    The table over all 24-bit colours takes memory only where colours are met.
    """

    def __init__(self) -> None:
        self._index = np.zeros(1 << 24, np.uint16)  # 0: not met yet, else the index plus one
        self.colours: list[int] = []
        self._is_coarse = False

    def indices(self, pixels: Pixels) -> npt.NDArray[np.uint16]:
        """Return the index of each pixel's colour."""
        plain = pixels & np.uint32(_COARSE if self._is_coarse else _RGB)
        found = self._index.take(plain)
        if not found.all():
            self._add(np.unique(plain[found == 0]))
            return self.indices(pixels)
        found -= 1
        return found

    def _add(self, colours: Pixels) -> None:
        if len(self.colours) + len(colours) > MOST:
            self._is_coarse = True
            self.colours.clear()
            self._index[:] = 0
            return
        first = len(self.colours) + 1
        self._index[colours] = np.arange(first, first + len(colours), dtype=np.uint16)
        self.colours += colours.tolist()

    @property
    def generation(self) -> int:
        """Changes when indices that were given out mean something else."""
        return int(self._is_coarse)
