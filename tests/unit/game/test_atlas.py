"""Maps of the built-in games, drawn from what their ROMs hold, beside what the screen shows; and where screens lie."""

from types import SimpleNamespace

import numpy as np
import pytest

from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.game.lantern.atlas import SCORE_LINE, background, floor_picture
from parcade.game.links_awakening.title import LinksAwakening
from parcade.game.meadow.atlas import map_pictures
from parcade.game.meadow.state import MAPS
from parcade.game.pokemon_emerald.state import State as EmeraldState
from parcade.game.pokemon_emerald.title import PokemonEmerald
from parcade.game.pokemon_red.title import PokemonRed


@pytest.fixture(scope="module")
def lantern():
    env = make(EnvSpec(game="lantern", render=True, game_options={"floors": 2}))
    yield env
    env.close()


@pytest.fixture(scope="module")
def meadow():
    env = make(EnvSpec(game="meadow", render=True))
    yield env
    env.close()


def test_the_background_is_the_screen_without_sprites(lantern):
    lantern.reset(seed=3)
    shown = lantern.console.screen()[..., 0]
    differ = np.argwhere(background(lantern.console) != shown)
    assert 0 < len(differ) < 300  # the hero, and perhaps a foe
    assert np.ptp(differ, axis=0).max() < 40


def test_every_room_of_a_floor_is_drawn_where_it_lies(lantern):
    lantern.reset(seed=3)
    state = lantern.state
    start = background(lantern.console)[SCORE_LINE:]
    floor = floor_picture(lantern.console)
    assert floor.shape == (state.grid_h * 128, state.grid_w * 160, 3)
    top, left = state.room // 4 * 128, state.room % 4 * 160
    assert (floor[top : top + 128, left : left + 160, 0] == start).all()
    rooms = [
        floor[y : y + 128, x : x + 160] for y in range(0, floor.shape[0], 128) for x in range(0, floor.shape[1], 160)
    ]
    assert all(len(np.unique(room)) == 4 for room in rooms)
    assert len({room.tobytes() for room in rooms}) >= 4


def test_the_next_floor_is_larger_and_dungeons_differ(lantern):
    lantern.reset(seed=3)
    second = lantern.game.map_picture(lantern.console, 3, "floor 2")
    assert second.shape == (384, 480, 3)
    lantern.reset(seed=4)
    assert not np.array_equal(lantern.game.map_picture(lantern.console, 4, "floor 2"), second)
    assert lantern.game.map_picture(lantern.console, 4, "floor nine") is None


def test_all_maps_of_meadow_are_found(meadow):
    meadow.reset(seed=1)
    pictures = map_pictures(meadow.console)
    assert tuple(pictures) == MAPS
    assert pictures["route1"].shape == (480, 320, 3)
    assert all(len(np.unique(picture.reshape(-1, 3), axis=0)) > 8 for picture in pictures.values())
    place = meadow.game.screen_place(meadow.state)
    shown = meadow.console.screen()[..., :3]
    part = pictures[place.map][place.top : place.top + 160, place.left : place.left + 240]
    assert (part == shown).all(axis=2).mean() > 0.97  # the hero and his mother


def test_screens_of_pokemon_red_have_the_player_in_the_fifth_column_and_row():
    state = SimpleNamespace(in_game=True, in_control=True, walking=0, map_id=0, x=10, y=6)
    assert PokemonRed().screen_place(state)[1:] == (96, 32, 144)
    for changed in ({"walking": 4}, {"in_control": False}, {"in_game": False}):
        assert PokemonRed().screen_place(SimpleNamespace(**{**vars(state), **changed})) is None


def test_screens_of_emerald():
    state = EmeraldState(running=True, settled=True, group=0, number=9, x=20, y=15)
    name, left, top, height = PokemonEmerald().screen_place(state)
    assert (name, left, top, height) == (state.map_name, 208, 168, 160)
    for changed in ({"dialogue": True}, {"menu": True}, {"settled": False}):
        assert PokemonEmerald().screen_place(EmeraldState(running=True, **{"settled": True, **changed})) is None


def test_screens_of_links_awakening_are_rooms():
    state = SimpleNamespace(settled=True, dialogue=False, category=0, room=0x92, place=0x92, x=88, y=80)
    assert LinksAwakening().screen_place(state) == ("overworld", 2 * 160, 9 * 128, 128)
    assert LinksAwakening().screen_place(SimpleNamespace(**{**vars(state), "dialogue": True})) is None
    indoors = LinksAwakening().screen_place(SimpleNamespace(**{**vars(state), "category": 2}))
    assert indoors[1:] == (0, 0, 128)
