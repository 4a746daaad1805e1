"""The reader against independently encoded RAM in a parked Game Boy, and the meaning made of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from links_awakening_encoder import FIRST, SECOND, encode

from parcade.console.base import button_mask
from parcade.console.gameboy import GameBoy
from parcade.console.rom import Rom, expect_sha1, read_rom
from parcade.errors import RomError
from parcade.game.links_awakening.memory import DungeonItems, Entity, LinkState, read_link_state
from parcade.game.links_awakening.title import BOOT_SCRIPT, LinksAwakening, LinksAwakeningWithMenu, holdings

PARK = Path(__file__).parents[2] / "roms" / "park.gb"


def parked(color: bool) -> GameBoy:
    """A running console that never touches its RAM."""
    data = bytearray(read_rom(PARK).data)
    if color:
        data[0x143] = 0x80
        total = 0
        for byte in data[0x134:0x14D]:
            total = (total - byte - 1) & 0xFF
        data[0x14D] = total
    console = GameBoy(Rom(bytes(data), "park.gb"))
    console.advance(0, 100)
    return console


@pytest.fixture(scope="module", params=[False, True], ids=["original", "dx"])
def console(request: pytest.FixtureRequest) -> Iterator[GameBoy]:
    console = parked(request.param)
    console.color = request.param  # type: ignore[attr-defined]
    yield console
    console.close()


def poke(console: GameBoy, values: dict[str, Any], color: bool) -> None:
    work, high = encode(values, color)
    console.write(0xC000, work)
    console.write(0xFF80, high)
    console.advance(0, 2)


def expected(values: dict[str, Any], color: bool) -> dict[str, Any]:
    wanted = dict(values)
    if not color:
        wanted["color_dungeon"] = (0, 0, 0, 0, 0)
    return wanted


def state_of(values: dict[str, Any], **changes: Any) -> LinkState:
    """A state without a console, for the pure part."""
    merged = values | changes
    merged["entities"] = tuple(Entity(*entity) for entity in merged["entities"])
    merged["color_dungeon"], merged["here"] = DungeonItems(*merged["color_dungeon"]), DungeonItems(*merged["here"])
    return LinkState(**merged)


def test_the_two_images_differ_in_every_field() -> None:
    assert set(FIRST) == set(SECOND) == set(LinkState._fields)
    assert not [name for name in FIRST if FIRST[name] == SECOND[name]]


@pytest.mark.parametrize("values", [FIRST, SECOND], ids=["first", "second"])
def test_every_field_is_read_back(console: GameBoy, values: dict[str, Any]) -> None:
    color = console.color  # type: ignore[attr-defined]
    poke(console, values, color)
    read = read_link_state(console)._asdict()
    wanted = expected(values, color)
    assert {name: read[name] for name in wanted if read[name] != wanted[name]} == {}


def test_dx_reads_bank_1_while_the_game_has_bank_2_in() -> None:
    console = parked(color=True)
    try:
        poke(console, SECOND, color=True)
        console.write(0xFF70, b"\x02")
        assert console.read(0xDB5B, 1)[0] != 14
        state = read_link_state(console)
        assert (state.max_hearts, state.rupees, state.color_dungeon) == (14, 987, (1, 0, 1, 1, 3))
    finally:
        console.close()


class Image:
    """RAM as bytes, for what needs no console."""

    def __init__(self, work: bytes, high: bytes) -> None:
        self.blocks = {0xC000: work, 0xFF80: high, 0xFF70: b"\xf8"}

    def read(self, address: int, length: int) -> bytes:
        base = 0xC000 if address < 0xE000 else 0xFF70 if address == 0xFF70 else 0xFF80
        return self.blocks[base][address - base : address - base + length]


@given(st.integers(0, 999), st.integers(0, 99), st.integers(0, 999), st.integers(0, 255))
def test_counts_and_flags_survive_the_image(rupees: int, bombs: int, deaths: int, instruments: int) -> None:
    values = SECOND | {"rupees": rupees, "bombs": bombs, "deaths": deaths, "instruments": instruments}
    state = read_link_state(Image(*encode(values, color=False)))
    assert (state.rupees, state.bombs, state.deaths, state.instruments) == (rupees, bombs, deaths, instruments)


@given(st.integers(0, 2**32))
def test_any_memory_gives_a_state_and_finite_features(seed: int) -> None:
    noise = np.random.default_rng(seed).bytes(0x2000 + 127)
    game = LinksAwakening()
    state = game.read(Image(noise[:0x2000], noise[0x2000:]))
    out = np.full(len(game.feature_names), np.nan, np.float32)
    game.features(state, game.begin(state), out)
    assert np.abs(out).max() <= 1


def test_places_of_different_groups_do_not_meet() -> None:
    overworld = state_of(FIRST, room=5)
    groups = [state_of(FIRST, category=c, map_id=m, room=5) for c, m in ((2, 0x00), (1, 0x10), (2, 0xFF))]
    assert len({overworld.place, *(state.place for state in groups)}) == 4


def test_a_dungeon_is_found_by_its_number() -> None:
    state = state_of(SECOND)
    assert state.dungeon(1) == (1, 1, 1, 0, 1)
    assert state.dungeon(9) == (1, 1, 0, 0, 9)
    assert state.dungeon(0) == state.color_dungeon


def test_enemies_are_what_hurts() -> None:
    assert [entity.slot for entity in state_of(SECOND).enemies] == [0, 7]
    assert state_of(FIRST).enemies == ()


def test_control_ends_with_a_dialogue_or_a_transition() -> None:
    assert state_of(FIRST).in_control
    for change in ({"dialogue": 9}, {"room_transition": 4}, {"motion": 3}, {"warp_step": 1}, {"gameplay": 2}):
        assert not state_of(FIRST, **change).in_control


@pytest.mark.parametrize(("motion", "physics"), [(0, 1), (1, 0), (1, 1), (1, 2)], ids=str)
def test_link_is_moved_on_ladders_in_the_water_and_under_it(motion: int, physics: int) -> None:
    state = state_of(FIRST, motion=motion, physics=physics)
    assert state.in_control
    assert state.game_over_stage == 0


def test_the_game_over_stage_counts_only_while_link_passes_out() -> None:
    assert state_of(FIRST, motion=7, physics=3).game_over_stage == 3
    assert not state_of(FIRST, motion=7, physics=3).in_control
    off_a_cliff = state_of(FIRST, motion=2, physics=1)
    assert (off_a_cliff.game_over_stage, off_a_cliff.in_control) == (0, False)


class TestReward:
    def test_each_part_once(self) -> None:
        game, before = LinksAwakening(), state_of(FIRST)
        after = state_of(
            FIRST, room=0xA3, sword=1, item_b=1, instruments=1, max_hearts=4, heart_pieces=1, shells=2, rupees=20
        )
        progress = game.begin(before)
        parts = game.reward(progress, before, after)
        assert parts == {
            "rooms": 1.0,
            "items": 2.0,  # the item in a slot and the level
            "instruments": 1.0,
            "hearts": 1.25,
            "shells": 2.0,
            "rupees": 20.0,
        }
        assert set(parts) <= set(game.reward_weights)
        assert game.reward(progress, after, after) == {}

    def test_spending_costs_nothing_and_old_rooms_give_nothing(self) -> None:
        game, start = LinksAwakening(), state_of(FIRST, rupees=50)
        progress = game.begin(start)
        assert game.reward(progress, start, state_of(FIRST, rupees=3)) == {}
        away = state_of(FIRST, room=1)
        assert game.reward(progress, start, away) == {"rooms": 1.0}
        assert game.reward(progress, away, state_of(FIRST)) == {}

    def test_damage_and_death_are_negative(self) -> None:
        game, before = LinksAwakening(), state_of(FIRST, health=8)
        progress = game.begin(before)
        after = state_of(FIRST, health=0, deaths=1)
        parts = game.reward(progress, before, after)
        assert parts == {"damage": 1.0, "death": 1.0}
        assert sum(game.reward_weights[name] * value for name, value in parts.items()) < 0
        assert game.over(after, progress)
        assert not game.over(before, progress)

    def test_a_room_counts_once_link_is_settled_in_it(self) -> None:
        game, before = LinksAwakening(), state_of(FIRST)
        progress = game.begin(before)
        moving = state_of(FIRST, room=7, room_transition=4)
        assert game.reward(progress, before, moving) == {}
        assert game.reward(progress, moving, state_of(FIRST, room=7)) == {"rooms": 1.0}

    def test_file_screens_mean_nothing(self) -> None:
        game, before = LinksAwakening(), state_of(FIRST)
        progress = game.begin(before)
        assert game.reward(progress, before, state_of(SECOND, gameplay=2)) == {}

    def test_a_lost_and_found_item_is_not_new(self) -> None:
        game, owner, robbed = LinksAwakening(), state_of(FIRST), state_of(FIRST, item_a=0, shield=0)
        progress = game.begin(owner)
        game.reward(progress, owner, robbed)
        assert game.reward(progress, robbed, owner) == {}


def test_milestones_and_names() -> None:
    game, start = LinksAwakening(), state_of(FIRST, category=1, shield=0, item_a=0)
    progress = game.begin(start)
    metrics = game.metrics(progress, start)
    assert tuple(metrics) == game.metric_names
    assert metrics["success"] == metrics["left_house"] == metrics["shield"] == 0
    end = state_of(FIRST, category=2, map_id=0, sword=1, door_keys=(1, 0, 0, 0), tarin=1, instruments=1, toadstool=1)
    game.reward(progress, start, end)
    metrics = game.metrics(progress, end)
    assert [metrics[name] for name in ("success", "shield", "tail_key", "tail_cave", "tarin", "first_instrument")] == [
        1.0
    ] * 6
    assert metrics["feather"] == metrics["left_house"] == 0
    assert json.loads(json.dumps(progress)) == progress


def test_features_are_named_and_filled() -> None:
    game = LinksAwakening()
    for state in (state_of(FIRST), state_of(SECOND)):
        out = np.full(len(game.feature_names), np.nan, np.float32)
        game.features(state, game.begin(state), out)
        named = dict(zip(game.feature_names, out.tolist(), strict=True))
        assert len(named) == len(out)
        assert np.abs(out).max() <= 1
        assert named["x"] == pytest.approx(state.x / 160)
        assert named["max_hearts"] == pytest.approx(state.max_hearts / 14)
        assert named["in_control"] == state.in_control
        assert named[f"a_holds_{state.item_a}"] == 1
        assert (named["enemy_0_near"] > 0) == bool(state.enemies)


def test_holdings_name_levels_keys_and_dungeon_items() -> None:
    tags = holdings(state_of(SECOND))
    assert len(tags) == len(set(tags))
    assert {"sword_1", "sword_2", "item_13", "door_key_1", "song_2", "golden_leaves_6", "dungeon_1_compass"} <= set(
        tags
    )
    assert "door_key_2" not in tags


def test_actions_and_boot_script_use_real_buttons() -> None:
    for game in (LinksAwakening(), LinksAwakeningWithMenu()):
        masks = [button_mask(GameBoy.buttons, *action.buttons) for action in game.actions]
        assert len(set(masks)) == len(masks)
    assert not any({"start", "select"} & set(action.buttons) for action in LinksAwakening.actions)
    assert all(button_mask(GameBoy.buttons, *buttons) >= 0 and frames > 0 for buttons, frames in BOOT_SCRIPT)


def test_a_loaded_game_is_not_booted_and_other_roms_are_refused() -> None:
    console = parked(color=False)
    try:
        poke(console, SECOND, color=False)
        LinksAwakening().start(console, seed=7)
        assert read_link_state(console).rupees == 987
    finally:
        console.close()
    with pytest.raises(RomError, match=r"links-awakening: park\.gb has SHA-1 .* expected .*DX, USA and Europe"):
        expect_sha1(read_rom(PARK), dict(LinksAwakening.known_sha1), LinksAwakening.name)


def test_place_cell_and_words() -> None:
    game, field = LinksAwakening(), state_of(FIRST, rupees=12)
    assert game.place(field) == ("overworld", 2 * 10 + 5, 10 * 8 + 2)
    cave = state_of(FIRST, category=2, map_id=7, room=0x1D)
    assert game.place(cave) == ("dungeon room 21D", 5, 2)
    assert game.cell(field) == game.cell(state_of(FIRST, x=9))
    assert len({game.cell(field), game.cell(cave), game.cell(state_of(FIRST, sword=1))}) == 3
    assert game.place(state_of(FIRST, room_transition=4)) is None
    assert game.cell(state_of(FIRST, room_transition=4)) is None
    words = game.describe(field)
    assert "overworld room A2 at (88, 62), interactive" in words
    assert "3 of 3 hearts, rupees 12" in words
    assert "text box" not in words
    assert "a text box is open" in game.describe(state_of(FIRST, dialogue=9))
    assert game.describe(state_of(FIRST, gameplay=2)) == "No game is loaded."
