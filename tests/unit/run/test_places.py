"""places.zip: what it counts, how it grows, and what a damaged one is called."""

import numpy as np
import pytest

from parcade.errors import RunError
from parcade.run import places as places_module
from parcade.run.places import WAY, Places, load_places


def walked(*steps, n_envs=2):
    places = Places(n_envs)
    for slot, number, x, y in steps:
        places.add(slot, np.array([[number, x, y]], np.int16), ["town", "cave"])
    return places


def test_what_is_written_is_read_again(tmp_path):
    places = walked((0, 0, 5, 7), (0, 0, 6, 7), (1, 1, -3, 2), (0, 0, 5, 7))
    places.life, places.ends, places.pictures = "12-3", [3, 1], "drawn"
    places.save(tmp_path)
    read = load_places(tmp_path)
    assert (read.life, read.ends, read.pictures, read.n_envs) == ("12-3", [3, 1], "drawn", 2)
    assert read.now == [("town", 5, 7), ("cave", -3, 2)]
    assert list(read.ways[0]) == [("town", 5, 7), ("town", 6, 7), ("town", 5, 7)]
    assert read.grids["town"].area.cells.tolist() == [[2, 1]]
    assert (read.grids["cave"].area.left, read.grids["cave"].area.top, read.grids["cave"].total) == (-3, 2, 1)
    read.add(0, np.array([[1, 0, 0]], np.int16), ["town", "cave"])  # and it goes on
    assert read.grids["cave"].total == 2


def test_a_way_keeps_its_newest_places_and_unknown_maps_are_left_out():
    places = Places(1)
    places.add(0, np.array([[0, x, 0] for x in range(100)] + [[7, 1, 1], [-1, 0, 0]], np.int16), ["town"])
    assert len(places.ways[0]) == WAY
    assert places.now == [("town", 99, 0)]
    assert places.grids["town"].total == 100


def test_maps_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(places_module, "MOST_CELLS", 100)
    places = walked((0, 0, 0, 0), (0, 0, 9, 8), (1, 1, 0, 0), (1, 1, 0, 9))
    assert [(name, grid.total) for name, grid in places.grids.items()] == [("town", 2), ("cave", 2)]
    places.add(1, np.array([[1, 0, 10]], np.int16), ["town", "cave"])  # 101 cells
    assert places.grids["cave"].total == 2
    assert places.now[1] == ("cave", 0, 10)


def test_no_file_is_nothing_and_a_damaged_one_is_told(tmp_path):
    assert load_places(tmp_path) is None
    walked((0, 0, 1, 1)).save(tmp_path)
    path = tmp_path / "places.zip"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RunError, match=r"places\.zip is damaged"):
        load_places(tmp_path)
