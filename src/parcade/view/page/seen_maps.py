"""Maps put together from what the games have shown: each picture is laid where the screen was."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parcade.run.growing import GrowingArea

MOST_MAPS = 48
LARGEST_SIDE = 4096  # pixels
_ALPHA = 0xFF000000


class SeenMaps:
    """Pictures of maps, by name; the one that nobody has added to for longest goes first."""

    def __init__(self) -> None:
        self._maps: dict[str, GrowingArea] = {}

    def add(self, name: str, left: int, top: int, pixels: npt.NDArray[np.uint32]) -> None:
        """Lay a picture with its corner at ``left``, ``top`` of the map."""
        area = self._maps.pop(name, None) or GrowingArea(LARGEST_SIDE)
        self._maps[name] = area
        height, width = pixels.shape
        if area.make_room(left, top, left + width, top + height):
            y, x = top - area.top, left - area.left
            area.cells[y : y + height, x : x + width] = pixels | np.uint32(_ALPHA)
        while len(self._maps) > MOST_MAPS:
            del self._maps[next(iter(self._maps))]

    def picture(self, name: str) -> tuple[int, int, npt.NDArray[np.uint8]] | None:
        """Return left and top of what was seen of a map, in pixels, and it as red, green, blue and whether it was."""
        area = self._maps.get(name)
        if area is None or not area.cells.size:
            return None
        height, width = area.cells.shape
        return area.left, area.top, area.cells.view(np.uint8).reshape(height, width, 4)
