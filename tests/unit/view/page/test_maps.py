"""Maps: where all are and have been, and pictures put together from what was seen."""

import json
import struct
import zlib
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.pool.showcase import Showcase
from parcade.pool.showing import Showing
from parcade.view.page.maps import Atlas
from parcade.view.page.png import png
from parcade.view.page.seen_maps import LARGEST_SIDE, SeenMaps
from parcade.view.page.visits import Visits, told, visits_message


@pytest.fixture
def showcase():
    made = Showcase.create(4, 2, has_places=True)
    yield made
    made.close()


class Walker:
    """A slot that is where the test says."""

    def __init__(self, slot):
        self.slot, self.place, self.has_places = slot, None, True
        self.env = SimpleNamespace()

    def at(self, showing, *place):
        showing._exhibits[self.slot] = SimpleNamespace(place=lambda: place or None, has_places=True)
        showing.note_place(self)


def attached_to(showcase, life="1"):
    return SimpleNamespace(showcase=showcase, n_envs=4, shares=[range(2), range(2, 4)], about={"life": life})


def counts_of(message):
    body = zlib.decompress(message[8:])
    left, top, columns, rows = struct.unpack_from("<iiII", body)
    return left, top, np.frombuffer(body, "<u4", columns * rows, 16).reshape(rows, columns)


def test_visits_of_all_workers_add_up(showcase, tmp_path):
    workers = Showing(showcase, 0, range(2)), Showing(showcase, 1, range(2, 4))
    Walker(2).at(workers[1], "cave", 9, 9)  # each worker numbers its maps by itself
    for _ in range(3):
        Walker(0).at(workers[0], "town", 5, 7)
    Walker(3).at(workers[1], "town", 4, 7)
    Walker(1).at(workers[0])  # nowhere
    visits = Visits(attached_to(showcase), tmp_path)
    visits.look()
    left, top, counts = counts_of(visits_message(visits.places, "town"))
    assert (left, top, counts.tolist()) == (4, 7, [[1, 3]])
    assert visits.places.now == [("town", 5, 7), None, ("cave", 9, 9), ("town", 4, 7)]
    Walker(0).at(workers[0], "town", 6, 6)
    visits.look()
    left, top, counts = counts_of(visits_message(visits.places, "town"))
    assert (left, top, counts.tolist()) == (4, 6, [[0, 0, 1], [1, 3, 0]])
    shown = json.loads(json.dumps(told(visits.places, "town")))
    assert {one["name"]: (one["visits"], one["here"]) for one in shown["maps"]} == {"town": (5, 2), "cave": (1, 1)}
    assert shown["paths"]["0"][-2:] == [[5, 7], [6, 6]]
    assert visits_message(visits.places, "nowhere") is None


def test_a_viewer_goes_on_where_the_run_has_counted(showcase, tmp_path):
    showing = Showing(showcase, 0, range(2))
    for _ in range(3):
        Walker(0).at(showing, "town", 5, 7)
    kept = Visits(attached_to(showcase), tmp_path).places
    kept.add(0, np.array([[0, 1, 1]] * 10, np.int16), ["town"])  # of an earlier life, or fallen out of the trails
    kept.add(0, showcase.trail(0).places, ["town"])
    kept.life, kept.ends = "1", [3, 0, 0, 0]
    kept.save(tmp_path)
    Walker(0).at(showing, "town", 6, 7)
    for life, wanted in (("1", 14), ("2", 17)):  # another life's trails have not been counted
        visits = Visits(attached_to(showcase, life), tmp_path)
        visits.look()
        assert visits.places.grids["town"].total == wanted


def test_a_restarted_worker_goes_on_with_its_maps(showcase):
    Walker(0).at(Showing(showcase, 0, range(2)), "town", 1, 1)
    Walker(0).at(Showing(showcase, 0, range(2)), "cave", 2, 2)
    assert showcase.map_names(0) == ["town", "cave"]
    assert showcase.trail(0).places.tolist() == [[0, 1, 1], [1, 2, 2]]


def test_trails_keep_the_newest_places(showcase):
    showing, walker = Showing(showcase, 0, range(2)), Walker(1)
    for step in range(showcase.trail_length + 10):
        walker.at(showing, "town", step % 1000, 0)
    trail = showcase.trail(1)
    assert trail.end == showcase.trail_length + 10
    assert len(trail.places) == showcase.trail_length
    assert trail.places[0, 1] == 10
    assert showcase.trail(0).places.shape == (0, 3)


def test_places_beyond_the_numbers_are_left_out(showcase):
    Walker(0).at(Showing(showcase, 0, range(2)), "town", 1 << 20, 0)
    assert showcase.trail(0).end == 0


def test_a_map_is_put_together_from_what_was_seen_exactly():
    env = make(EnvSpec(game="meadow", render=True))
    seen, laid = SeenMaps(), 0
    rng = np.random.default_rng(3)
    env.reset(seed=2)
    whole = env.game.map_picture(make_console_of(env), 2, "home")
    for _ in range(60):
        env.step(int(rng.integers(5)))
        place = env.game.screen_place(env.state)
        if place is not None and place.map == "home":
            screen = env.console.screen().copy().view(np.uint32)[..., 0]
            seen.add(place.map, place.left, place.top, screen[: place.height])
            laid += 1
    env.close()
    left, top, pixels = seen.picture("home")
    assert laid > 10
    assert (left, top) == (0, 0)
    assert pixels.shape[:2] == whole.shape[:2]
    assert (pixels[..., :3] == whole).all(axis=2).mean() > 0.95  # people and the name of the place stand on it
    assert (pixels[..., 3] == 255).all()


def make_console_of(env):
    fresh = make(EnvSpec(game=env.game.name))
    fresh.reset(seed=2)
    return fresh.console


def test_a_map_does_not_grow_without_end():
    seen = SeenMaps()
    tile = np.ones((8, 8), np.uint32)
    seen.add("a", 0, 0, tile)
    seen.add("a", LARGEST_SIDE, 0, tile)
    assert seen.picture("a")[2].shape == (8, 8, 4)
    for number in range(200):
        seen.add(f"map {number}", 0, 0, tile)
    assert seen.picture("a") is None
    assert seen.picture("map 199") is not None


def test_titles_draw_their_own_maps():
    atlas = Atlas()
    home = cv2.imdecode(np.frombuffer(atlas.png("meadow", None, "home"), np.uint8), cv2.IMREAD_COLOR)
    assert home.shape == (160, 240, 3)
    floor = cv2.imdecode(np.frombuffer(atlas.png("lantern", 7, "floor 1"), np.uint8), cv2.IMREAD_COLOR)
    assert floor.shape == (256, 480, 3)
    assert atlas.png("lantern", 7, "floor 1") is atlas.png("lantern", 7, "floor 1")
    for game, name in (("lantern", "floor x"), ("meadow", "nowhere"), ("my_module:Game", "a"), ("no-such", "a")):
        assert atlas.png(game, None, name) is None


@pytest.mark.parametrize("channels", [3, 4])
def test_png_files_hold_what_was_drawn(channels):
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, channels), np.uint8)
    read = cv2.imdecode(np.frombuffer(png(picture), np.uint8), cv2.IMREAD_UNCHANGED)
    order = [2, 1, 0, 3][:channels]
    assert (read[..., order] == picture).all()
