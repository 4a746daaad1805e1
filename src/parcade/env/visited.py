"""The ``visited`` picture: the places of the present map that the hero has been to in this episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import SettingsError
from parcade.game.base import Game, Place

SIDE = 48  # places in each direction; a pixel each, the hero's at (SIDE // 2, SIDE // 2)
BEEN = 255  # networks divide pictures by 255, so that a visited place is 1

Picture = npt.NDArray[np.uint8]
Tiles = dict[tuple[str, int, int], Picture]  # a map and the number of a square of SIDE x SIDE places on it


class VisitedPlaces:
    """Remembers an episode's places in squares, so that maps have no size and a picture is cut from four of them."""

    def __init__(self) -> None:
        self._tiles: Tiles = {}

    def clear(self) -> None:
        """Begin an episode."""
        self._tiles = {}

    def write(self, place: Place | None, row: Picture) -> None:
        """Note the hero's place and write the picture around it into (1, SIDE, SIDE); without a place it is black."""
        picture = row[0]
        if place is None:
            picture[...] = 0
            return
        name, x, y = place
        self._tile(name, x // SIDE, y // SIDE)[y % SIDE, x % SIDE] = BEEN
        column, left = divmod(x - SIDE // 2, SIDE)
        line, top = divmod(y - SIDE // 2, SIDE)
        for down, rows, lines in (
            (0, slice(0, SIDE - top), slice(top, SIDE)),
            (1, slice(SIDE - top, SIDE), slice(top)),
        ):
            for right, target, columns in (
                (0, slice(0, SIDE - left), slice(left, SIDE)),
                (1, slice(SIDE - left, SIDE), slice(left)),
            ):
                tile = self._tiles.get((name, column + right, line + down))
                picture[rows, target] = 0 if tile is None else tile[lines, columns]

    def _tile(self, name: str, column: int, line: int) -> Picture:
        key = name, column, line
        if key not in self._tiles:
            self._tiles[key] = np.zeros((SIDE, SIDE), np.uint8)
        return self._tiles[key]

    def snapshot(self) -> Tiles:
        """Return a copy of all that is remembered."""
        return {key: tile.copy() for key, tile in self._tiles.items()}

    def restore(self, tiles: Tiles) -> None:
        """Go back to what ``snapshot`` returned."""
        self._tiles = {key: tile.copy() for key, tile in tiles.items()}


def check_visited(game: Game[Any, Any]) -> None:
    """Refuse a title that does not say where its hero is."""
    if type(game).place is Game.place:
        raise SettingsError(
            f"{game.name} does not say where its hero is (no method place), so it has no visited picture; "
            "leave visited out, or write place (docs/add-a-game.md)"
        )
