"""places.zip: how often the games of a training have been where, and where each was last; it outlives the training."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import ModelFileError, RunError
from parcade.run.archive import read_archive, write_archive
from parcade.run.growing import GrowingArea

NAME = "places.zip"
KIND = "places"
WAY = 24  # places of a slot's way that are kept
MOST_MAPS, LARGEST_SIDE = 512, 2048
MOST_CELLS = 1 << 22  # of all maps together
LARGEST_FILE = 64 << 20
Triples = npt.NDArray[np.int16]  # (n, 3): number of a map, column, row
Place = tuple[str, int, int]


class VisitGrid:
    """Visits of one map."""

    def __init__(self) -> None:
        self.area = GrowingArea(LARGEST_SIDE)
        self.total = 0

    def add(self, places: npt.NDArray[np.int16], most_cells: int) -> None:
        """Count places (n, 2); those that would make the map absurdly large are left out."""
        columns, rows = places[:, 0].astype(np.int64), places[:, 1].astype(np.int64)
        box = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
        if self.area.grown_cells(*box) <= most_cells and self.area.make_room(*box):
            np.add.at(self.area.cells, (rows - self.area.top, columns - self.area.left), 1)
            self.total += len(places)


class Places:
    """Counts the places of one training's slots; what happened before counts where it was kept."""

    def __init__(self, n_envs: int) -> None:
        self.n_envs = n_envs
        self.grids: dict[str, VisitGrid] = {}
        self.ways: list[deque[Place]] = [deque(maxlen=WAY) for _ in range(n_envs)]
        self.ends = [0] * n_envs  # how many places of each slot's trail are counted, in the life ``life``
        self.life = ""
        self.pictures: str | None = None  # where pictures of the maps come from: "drawn", "seen" or "plain"

    def add(self, slot: int, places: Triples, names: Sequence[str]) -> None:
        """Count what was added to a slot's trail; ``names`` are those of its maps' numbers."""
        places = places[(places[:, 0] >= 0) & (places[:, 0] < len(names))]
        self.ways[slot].extend((names[number], x, y) for number, x, y in places[-WAY:].tolist())
        for number in np.unique(places[:, 0]):
            self._count(names[number], places[places[:, 0] == number, 1:])

    def _count(self, name: str, places: npt.NDArray[np.int16]) -> None:
        grid = self.grids.get(name)
        if grid is None:
            if len(self.grids) >= MOST_MAPS:
                return
            grid = self.grids[name] = VisitGrid()
        others = sum(one.area.cells.size for one in self.grids.values() if one is not grid)
        grid.add(places, MOST_CELLS - others)

    @property
    def now(self) -> list[Place | None]:
        """Where each slot was last."""
        return [way[-1] if way else None for way in self.ways]

    def save(self, run: Path) -> None:
        """Write it into a run's folder, whole or not at all."""
        names = list(self.grids)
        numbers = {name: number for number, name in enumerate(names)}
        ways = np.full((self.n_envs, WAY, 3), -1, np.int16)
        for slot, way in enumerate(self.ways):
            for index, (name, x, y) in enumerate(way):
                ways[slot, index] = numbers.get(name, -1), x, y
        meta = {
            "life": self.life,
            "ends": self.ends,
            "pictures": self.pictures,
            "maps": [
                {"name": name, "left": grid.area.left, "top": grid.area.top, "visits": grid.total}
                for name, grid in self.grids.items()
            ],
        }
        visits = {str(numbers[name]): grid.area.cells for name, grid in self.grids.items()}
        write_archive(run / NAME, KIND, meta, {"visits": visits, "slots": {"ways": ways}})


def load_places(run: Path) -> Places | None:
    """Return what a run's folder holds; None where it holds nothing, RunError where the file is damaged."""
    path = run / NAME
    if not path.is_file():
        return None
    try:
        meta, groups = read_archive(path, KIND, LARGEST_FILE)
        return _unpacked(meta, groups)
    except (ModelFileError, LookupError, TypeError, ValueError, AttributeError):
        raise RunError(
            f"{path} is damaged, or of another version of Parcade; delete it and the map begins anew"
        ) from None


def _unpacked(meta: dict[str, Any], groups: dict[str, dict[str, npt.NDArray[Any]]]) -> Places:
    ways = groups["slots"]["ways"]
    if ways.dtype != np.int16 or ways.ndim != 3 or ways.shape[1:] != (WAY, 3):
        raise ValueError("ways")
    found = Places(len(ways))
    found.life, found.pictures = str(meta["life"]), meta["pictures"]
    found.ends = [int(end) for end in meta["ends"]]
    names = [str(one["name"]) for one in meta["maps"][:MOST_MAPS]]
    for number, one in enumerate(meta["maps"][:MOST_MAPS]):
        grid = found.grids[names[number]] = VisitGrid()
        cells = groups["visits"][str(number)]
        if cells.dtype != np.uint32 or cells.ndim != 2 or max(cells.shape) > LARGEST_SIDE:
            raise ValueError("visits")
        grid.area.left, grid.area.top, grid.area.cells = int(one["left"]), int(one["top"]), cells.copy()
        grid.total = int(one["visits"])
    for slot, way in enumerate(ways.tolist()):
        found.ways[slot].extend((names[number], x, y) for number, x, y in way if 0 <= number < len(names))
    if len(found.ends) != len(ways):
        raise ValueError("ends")
    return found
