"""Where every slot is, and how often all have been where: of a training that runs, or as a run's folder kept it."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from parcade.errors import RunError
from parcade.pool.trails import TrailReader
from parcade.run.places import Places, load_places
from parcade.view.attached import Attached

VISITS = 3  # the kind of a message that holds a map's visits
_HEAD = struct.Struct("<BxHI")
_AREA = struct.Struct("<iiII")  # first column, first row, columns, rows


class Visits:
    """The places of a training that runs: what its folder holds already, and what its trails hold since."""

    def __init__(self, attached: Attached, run: Path) -> None:
        self.places = _known(run, attached.n_envs)
        is_same_life = self.places.life == attached.about.get("life")
        ends = self.places.ends if is_same_life else None
        self._trails = TrailReader(attached.showcase, attached.shares, ends)

    def look(self) -> None:
        """Take over what was added to the trails."""
        for slot, places, names in self._trails.read_on():
            self.places.add(slot, places, names)


def _known(run: Path, n_envs: int) -> Places:
    try:
        found = load_places(run)
    except RunError:
        found = None
    return found if found is not None and found.n_envs == n_envs else Places(n_envs)


def told(places: Places, shown: str) -> dict[str, Any]:
    """Return who is where, for a client that looks at the map ``shown``."""
    now = places.now
    here: dict[str, int] = {}
    for place in now:
        if place is not None:
            here[place[0]] = here.get(place[0], 0) + 1
    maps = [{"name": name, "visits": grid.total, "here": here.get(name, 0)} for name, grid in places.grids.items()]
    numbers = {one["name"]: index for index, one in enumerate(maps)}
    return {
        "kind": "places",
        "maps": maps,
        "now": [None if place is None else [numbers.get(place[0], -1), place[1], place[2]] for place in now],
        "paths": {slot: path for slot in range(places.n_envs) if (path := _path(places, slot, shown))},
    }


def _path(places: Places, slot: int, shown: str) -> list[tuple[int, int]]:
    """Return a slot's way on this map since it came there."""
    path: list[tuple[int, int]] = []
    for name, x, y in reversed(places.ways[slot]):
        if name != shown:
            break
        path.append((x, y))
    return path[::-1]


def told_text(places: Places, shown: str) -> str:
    """Return ``told`` as text."""
    return json.dumps(told(places, shown))


def visits_message(places: Places, name: str) -> bytes | None:
    """Return the visits of a map, packed; None where nobody has been."""
    grid = places.grids.get(name)
    if grid is None:
        return None
    rows, columns = grid.area.cells.shape
    body = _AREA.pack(grid.area.left, grid.area.top, columns, rows) + grid.area.cells.astype("<u4").tobytes()
    return _HEAD.pack(VISITS, 0, 0) + zlib.compress(body, 1)
