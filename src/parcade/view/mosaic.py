"""Where each game stands in a window: arithmetic only."""

from __future__ import annotations

import math
from dataclasses import dataclass

GAP, CAPTION = 4, 16
MOST_BY_ITSELF = 4  # the largest scale that is chosen without being asked for

Size = tuple[int, int]  # width, height


@dataclass(frozen=True, slots=True)
class Mosaic:
    """A grid of equal tiles; ``scale`` enlarges the first picture of each."""

    columns: int
    scale: float
    tile: Size
    window: Size

    def corner(self, index: int) -> Size:
        """Return left and top of a tile."""
        row, column = divmod(index, self.columns)
        return GAP + column * (self.tile[0] + GAP), GAP + row * (self.tile[1] + GAP)


def plan(n_tiles: int, content: tuple[float, float], room: Size, wanted: int | None = None) -> Mosaic:
    """Return the grid whose pictures are largest in ``room``.

    ``content`` is the width and height of a tile's pictures at scale 1. A whole scale keeps every pixel a clean square.
    """
    best = max((_scale(columns, n_tiles, content, room), -columns) for columns in range(1, n_tiles + 1))
    most, columns = best[0], -best[1]
    scale = min(most, float(wanted or MOST_BY_ITSELF))
    if scale > 1:
        scale = float(math.floor(scale))
    tile = (max(1, round(content[0] * scale)), max(1, round(content[1] * scale)) + CAPTION)
    rows = -(-n_tiles // columns)
    return Mosaic(columns, scale, tile, (GAP + columns * (tile[0] + GAP), GAP + rows * (tile[1] + GAP)))


def _scale(columns: int, n_tiles: int, content: tuple[float, float], room: Size) -> float:
    rows = -(-n_tiles // columns)
    width = (room[0] - GAP) / columns - GAP
    height = (room[1] - GAP) / rows - GAP - CAPTION
    return max(0.02, min(width / content[0], height / content[1]))
