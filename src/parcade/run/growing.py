"""An array over a part of the plane that grows where something is laid."""

from __future__ import annotations

import numpy as np


class GrowingArea:
    """Cells from ``left`` and ``top`` on; it is refused to grow beyond ``largest`` a side."""

    def __init__(self, largest: int) -> None:
        self.left = self.top = 0
        self.cells = np.zeros((0, 0), np.uint32)
        self._largest = largest

    def grown_cells(self, left: int, top: int, right: int, bottom: int) -> int:
        """Return how many cells it would have if this part lay inside."""
        height, width = self.cells.shape
        if height:
            left, top = min(left, self.left), min(top, self.top)
            right, bottom = max(right, self.left + width), max(bottom, self.top + height)
        return (right - left) * (bottom - top)

    def make_room(self, left: int, top: int, right: int, bottom: int) -> bool:
        """Grow so that this part lies inside; return whether it does."""
        height, width = self.cells.shape
        if height:
            left, top = min(left, self.left), min(top, self.top)
            right, bottom = max(right, self.left + width), max(bottom, self.top + height)
        if right - left > self._largest or bottom - top > self._largest:
            return False
        if (left, top, right - left, bottom - top) != (self.left, self.top, width, height):
            grown = np.zeros((bottom - top, right - left), np.uint32)
            y, x = self.top - top, self.left - left
            if height:
                grown[y : y + height, x : x + width] = self.cells
            self.left, self.top, self.cells = left, top, grown
        return True
