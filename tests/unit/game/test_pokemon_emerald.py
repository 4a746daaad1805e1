"""The reader against independently encoded RAM in parked GBA consoles, and the meaning made of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from emerald_encoder import EWRAM, IWRAM, Foe, Mon, PlainMemory, Scene, cartridge

from parcade.console.gba import GBA_BUTTONS, GameBoyAdvance
from parcade.console.rom import Rom, expect_sha1, read_rom
from parcade.errors import MissingExtraError, RomError, SaveStateError
from parcade.game.pokemon_emerald import PokemonEmerald, PokemonEmeraldWithStart
from parcade.game.pokemon_emerald.memory import BLOCKED, FLOOR, GRASS, LEDGE, MAP_NAMES, PERSON, WARP, WATER, map_name
from parcade.game.pokemon_emerald.party import Item, decode_member, decode_party
from parcade.game.pokemon_emerald.state import State

PARK = read_rom(Path(__file__).parents[2] / "roms" / "park.gba").data
BEHAVIOURS = {0x001: 0x00, 0x00D: 0x02, 0x021: 0x69, 0x0C0: 0x15, 0x1AA: 0x3B}
ROM = cartridge(PARK, BEHAVIOURS)
GAME = PokemonEmerald()
WORDS = st.integers(0, 0xFFFF_FFFF)
HALVES = st.integers(0, 0xFFFF)

START = Scene(offset=0, key=0, group=1, number=1, x=3, y=2, width=9, height=8, name="BRENDAN", female=False)
FIRST = Scene(
    offset=36,
    key=0xDEADBEEF,
    group=0,
    number=16,
    x=7,
    y=0,
    width=20,
    height=20,
    name="May B",
    trainer_id=0xCAFE1234,
    time=(12, 34, 56),
    money=3210,
    coins=50,
    bag={"items": [(13, 5), (14, 99)], "balls": [(4, 10)], "berries": [(133, 999)]},
    flags=(0x51, 0x52, 0x57, 0x861, 0x867, 0x869, 0x86F, 0x870, 0x500),
    variables={0x4023: 2, 0x4092: 7, 0x40FF: 0xBEEF},
    caught=(252, 261, 300),
    seen=(1, 252, 255, 261, 300, 386),
    party=[
        Mon(0x8000_0017, 0xCAFE1234, 283, 9, 21, 27, "Mudkip", 139, 700, 84, (33, 45, 55, 0), (35, 40, 25, 0)),
        Mon(0x0000_0000, 0xFFFF_FFFF, 286, 3, 0, 14, "Dog", status=0x08, egg=True, stats=(1, 2, 3, 4, 999)),
    ],
    layout_id=0x11,
    facing=3,
    blocks={(7, 0): 0x300D, (8, 0): 0x3421, (6, 0): 0x3401, (7, 1): 0x35AA, (5, 1): 0x10C0, (7, -1): 0x03FF},
    people=[(9, 2), (0, 0)],
    message_box=2,
    locked=1,
    script=0,
    start_menu=0,
)
SECOND = Scene(
    offset=124,
    key=0x0000_FFFF,
    group=24,
    number=11,
    x=44,
    y=59,
    width=48,
    height=60,
    name="RED",
    female=False,
    money=999_999,
    coins=9999,
    bag={"key_items": [(259, 1)] * 30, "tms": [(289, 1)], "items": [(1, 7)] * 30},
    flags=tuple(range(0x867, 0x86F)),
    variables={0x4000: 1},
    caught=tuple(range(1, 387)),
    seen=tuple(range(1, 387)),
    party=[Mon(1000 + i, i * 12345, 1 + i, 100, i, 300, moves=(i, 2, 3, 4)) for i in range(6)],
    facing=2,
    callback2=0x08038421,
    battle=(Foe(254, 36, 80, 101, 0x10), Foe(310, 34, 1, 95, moves=(87, 98, 0, 0))),
    battle_type=0x08,
    opponent=520,
    outcome=1,
    controller=0x08057BFD,
    cursors=(3, 2),
)


def plain(scene: Scene) -> PlainMemory:
    return PlainMemory(*scene.images(), ROM)


def read(scene: Scene) -> State:
    return GAME.read(plain(scene))


def put(console: GameBoyAdvance, scene: Scene) -> None:
    ewram, iwram = scene.images()
    console.write(EWRAM, ewram)
    console.write(IWRAM, iwram)


@pytest.fixture
def consoles() -> Iterator[list[GameBoyAdvance]]:
    """Two running consoles that never touch their RAM."""
    try:
        pair = [GameBoyAdvance(Rom(ROM, "park.gba")) for _ in range(2)]
    except MissingExtraError as error:
        pytest.skip(str(error))
    for console in pair:
        console.advance(0, 3)
    yield pair
    for console in pair:
        console.close()


def check_first(state: State) -> None:
    assert (state.running, state.settled, state.screen) == (True, True, "overworld")
    assert (state.name, state.female, state.trainer_id) == ("May B", True, 0xCAFE1234)
    assert state.play_time_s == 12 * 3600 + 34 * 60 + 56
    assert (state.group, state.number, state.map_name) == (0, 16, "Route 101")
    assert (state.x, state.y, state.width, state.height) == (7, 0, 20, 20)
    assert (state.layout, state.facing, state.behaviour, state.elevation) == (0x11, "left", 0x02, 3)
    assert (state.money, state.coins, state.badges) == (3210, 50, 0b101)
    assert (state.caught, state.seen) == (3, 6)
    assert state.bag == (
        Item("items", 13, 5),
        Item("items", 14, 99),
        Item("balls", 4, 10),
        Item("berries", 133, 999),
    )
    assert [number for number in range(0x960) if state.flag(number)] == sorted(FIRST.flags)
    assert {n: state.variable(n) for n in range(0x4000, 0x4100) if state.variable(n)} == FIRST.variables
    assert (state.dialogue, state.locked, state.script, state.menu, state.battle) == (True, True, True, True, None)
    check_party(state, FIRST)


def check_second(state: State) -> None:
    assert (state.running, state.settled, state.screen) == (True, True, "battle")
    assert (state.name, state.female, state.map_name) == ("RED", False, "Petalburg Woods")
    assert (state.x, state.y, state.width, state.height, state.facing) == (44, 59, 48, 60, "up")
    assert (state.money, state.coins, state.badges) == (999_999, 9999, 0xFF)
    assert (state.caught, state.seen) == (386, 386)
    assert len(state.bag) == 61
    assert state.bag[30] == Item("key_items", 259, 1)
    assert (state.dialogue, state.locked, state.script, state.menu) == (False, False, False, False)
    battle = state.battle
    assert battle is not None
    assert battle.own == (254, 36, 80, 101, 0x10, (1, 2, 3, 4))
    assert battle.foe == (310, 34, 1, 95, 0, (87, 98, 0, 0))
    assert (battle.trainer, battle.outcome, battle.menu) == (520, "won", "move")
    assert (battle.action_cursor, battle.move_cursor) == (3, 2)
    check_party(state, SECOND)


def check_party(state: State, scene: Scene) -> None:
    assert len(state.party) == len(scene.party)
    for member, mon in zip(state.party, scene.party, strict=True):
        check_member(member, mon)


def check_member(member: Any, mon: Mon) -> None:
    assert member.valid
    fields = (
        "personality trainer_id nickname species item experience friendship moves pp egg status level hp max_hp stats"
    )
    for name in fields.split():
        assert getattr(member, name) == getattr(mon, name), name


def test_every_field_comes_back_from_two_games_at_once(consoles: list[GameBoyAdvance]) -> None:
    one, two = consoles
    put(one, FIRST)
    put(two, SECOND)
    for _ in range(3):
        check_first(GAME.read(one))
        check_second(GAME.read(two))
        one.advance(0, 2)
        two.advance(0, 1)


def test_one_game_follows_when_its_blocks_move(consoles: list[GameBoyAdvance]) -> None:
    console = consoles[0]
    for offset, key in ((0, 0), (124, 0xFFFF_FFFF), (60, 0x1234_5678)):
        put(console, replace(FIRST, offset=offset, key=key))
        check_first(GAME.read(console))
    put(console, SECOND)
    check_second(GAME.read(console))


def test_plain_bytes_read_as_a_console_does() -> None:
    check_first(read(FIRST))
    check_second(read(SECOND))


def test_a_raw_state_is_read_through_another_rom_of_the_same_title(consoles: list[GameBoyAdvance]) -> None:
    put(consoles[0], SECOND)
    save_state = consoles[0].save()
    header_only = cartridge(PARK[:0xC4], BEHAVIOURS)[:0xC00] + b"other"
    other = GameBoyAdvance(Rom(header_only, "header.gba"))
    other.load(save_state)
    check_second(GAME.read(other))
    other.close()
    foreign = GameBoyAdvance(Rom(cartridge(PARK, {}, b"SOMETHING", b"ABCD"), "foreign.gba"))
    with pytest.raises(SaveStateError):
        foreign.load(save_state)
    foreign.close()


def test_surroundings() -> None:
    state = read(FIRST)
    kinds = {(dx, dy): state.surroundings[(dy + 3) * 7 + dx + 3] for dx in range(-3, 4) for dy in range(-3, 4)}
    assert kinds[0, 0] == GRASS
    assert kinds[1, 0] == WARP  # a door acts although it is solid
    assert kinds[-1, 0] == BLOCKED
    assert kinds[0, 1] == LEDGE
    assert kinds[-2, 1] == WATER
    assert kinds[2, 2] == PERSON
    assert kinds[0, -1] == BLOCKED  # nothing beyond the edge
    assert kinds[3, 3] == FLOOR


def test_dialogue_lasts_until_the_text_box_closes() -> None:
    assert read(replace(START, message_box=2, text_box_tile=0x194)).dialogue  # printing
    assert read(replace(START, message_box=0, text_box_tile=0x194)).dialogue  # printed, waits for a button
    assert not read(replace(START, message_box=0, text_box_tile=0)).dialogue
    assert not read(replace(START, message_box=0, text_box_tile=None)).dialogue
    in_the_bag = replace(START, callback2=0x081AAD5D, text_box_tile=0x194)  # other screens have other windows
    assert not read(in_the_bag).dialogue


def test_the_place_is_the_players_own_not_the_save_blocks() -> None:
    moved = read(replace(FIRST, saved_place=(2, 9)))
    assert (moved.x, moved.y) == (FIRST.x, FIRST.y)
    assert moved.surroundings == read(FIRST).surroundings
    unseen = read(replace(FIRST, saved_place=(2, 9), player_shown=False))
    assert (unseen.x, unseen.y) == (2, 9)


def test_a_rom_too_short_for_its_tilesets_leaves_collisions_only() -> None:
    state = GAME.read(PlainMemory(*FIRST.images(), ROM[:0xC4]))
    assert state.settled
    assert state.behaviour == 0
    assert set(state.surroundings) == {BLOCKED, FLOOR, PERSON}


def test_before_the_game_has_started() -> None:
    ewram, iwram = bytes(0x40000), bytes(0x8000)
    assert GAME.read(PlainMemory(ewram, iwram, ROM)) == State(screen="other")


@pytest.mark.parametrize("pointer", [0, 1, 0x0203_FFFC, 0x0300_0000, 0x0800_0000, 0xFFFF_FFFF])
@pytest.mark.parametrize("which", [0, 4])
def test_pointers_into_nowhere_are_a_game_not_running(pointer: int, which: int) -> None:
    ewram, iwram = START.images()
    at = 0x5D8C + which
    iwram = iwram[:at] + pointer.to_bytes(4, "little") + iwram[at + 4 :]
    state = GAME.read(PlainMemory(ewram, iwram, ROM))
    assert not state.running
    assert not state.settled


def test_the_name_is_known_before_a_map_is_loaded() -> None:
    ewram, iwram = START.images()
    iwram = iwram[:0x5DC0] + bytes(12) + iwram[0x5DCC:]
    state = GAME.read(PlainMemory(ewram, iwram, ROM))
    assert state == State(screen="overworld", name="BRENDAN")
    metrics = GAME.metrics(GAME.begin(state), state)
    assert (metrics["named"], metrics["running"]) == (1.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(WORDS, st.booleans())
def test_no_memory_makes_it_fail(seed: int, started: bool) -> None:
    noise = np.random.default_rng(seed)
    ewram, iwram = noise.bytes(0x40000), bytearray(noise.bytes(0x8000))
    if started:  # plausible pointers to noise
        iwram[0x5D8C:0x5D94] = (0x02025A00).to_bytes(4, "little") + (0x02024A54).to_bytes(4, "little")
        iwram[0x5DC0:0x5DCC] = START.images()[1][0x5DC0:0x5DCC]
        ewram = ewram[:0x37318] + (0x0800_0200).to_bytes(4, "little") + ewram[0x3731C:]
    state = GAME.read(PlainMemory(ewram, bytes(iwram), ROM[:0xC4]))
    progress = GAME.begin(state)
    out = np.zeros(len(GAME.feature_names), np.float32)
    GAME.features(state, progress, out)
    assert np.all(np.abs(out) <= 1)
    assert set(GAME.metrics(progress, state)) == set(GAME.metric_names)


def torn_checksum(scene: Scene) -> State:
    ewram, iwram = scene.images()
    at = 0x244EC + 0x30
    return GAME.read(PlainMemory(ewram[:at] + bytes([ewram[at] ^ 1]) + ewram[at + 1 :], iwram, ROM))


def test_torn_memory_is_told_and_not_rewarded() -> None:
    before = read(START)
    torn = [
        read(replace(FIRST, vblank=0)),
        read(replace(FIRST, money=0x4000_0000)),
        read(replace(FIRST, x=20)),
        torn_checksum(FIRST),
    ]
    for state in torn:
        assert state.running
        assert not state.settled
        progress = GAME.begin(before)
        assert GAME.reward(progress, before, state) == {}
        assert "oldale" not in progress["milestones"]
        late = GAME.reward(progress, state, read(FIRST))
        assert late == GAME.reward(GAME.begin(before), before, read(FIRST))
        assert late["story"] == 5  # 0x51 0x52 0x57 0x861 0x500


MONS = st.builds(
    Mon,
    personality=WORDS,
    trainer_id=WORDS,
    species=HALVES,
    level=st.integers(0, 255),
    hp=HALVES,
    max_hp=HALVES,
    nickname=st.text("ABCXYZ abcz", max_size=10),
    item=HALVES,
    experience=WORDS,
    friendship=st.integers(0, 255),
    moves=st.tuples(*[HALVES] * 4),
    pp=st.tuples(*[st.integers(0, 255)] * 4),
    egg=st.booleans(),
    status=WORDS,
    stats=st.tuples(*[HALVES] * 5),
)


@settings(max_examples=150, deadline=None)
@given(MONS)
def test_any_member_comes_back(mon: Mon) -> None:
    check_member(decode_member(mon.encode()), mon)


@pytest.mark.parametrize("order", range(24))
def test_all_24_orders(order: int) -> None:
    mon = Mon(0xABCDEF00 // 24 * 24 + order, 7, 300, 5, 6, 7, moves=(1, 2, 3, 4), pp=(5, 6, 7, 8), experience=99)
    check_member(decode_member(mon.encode()), mon)


@settings(max_examples=150, deadline=None)
@given(MONS, st.integers(0x20, 0x4F), st.integers(1, 255))
def test_a_changed_secret_byte_is_noticed(mon: Mon, at: int, flip: int) -> None:
    raw = bytearray(mon.encode())
    raw[at] ^= flip
    member = decode_member(bytes(raw))
    assert not member.valid
    assert (member.species, member.experience, member.moves, member.pp) == (0, 0, (0,) * 4, (0,) * 4)
    assert (member.level, member.hp, member.status) == (mon.level, mon.hp, mon.status)


def test_a_count_above_six_reads_six() -> None:
    raw = b"".join(mon.encode() for mon in SECOND.party)
    assert len(decode_party(raw, 255)) == 6


def step(progress: dict[str, Any], before: Scene, after: Scene) -> dict[str, float]:
    return GAME.reward(progress, read(before), read(after))


def test_nothing_of_the_start_is_rewarded_and_standing_still_earns_nothing() -> None:
    for scene in (START, FIRST, SECOND):
        state = read(scene)
        progress = GAME.begin(state)
        assert GAME.reward(progress, state, state) == {}


def test_a_new_game_starts_to_count_when_it_runs() -> None:
    progress = GAME.begin(State())
    assert GAME.reward(progress, State(), read(START)) == {}
    assert step(progress, START, replace(START, x=4)) == {"tiles": 1.0}


def test_places_and_tiles_count_once() -> None:
    progress = GAME.begin(read(START))
    there = replace(START, group=0, number=9)
    assert step(progress, START, there) == {"maps": 1.0, "tiles": 1.0}
    assert step(progress, there, START) == {}
    assert step(progress, START, replace(START, y=3)) == {"tiles": 1.0}
    assert (progress["maps"], progress["tiles"]) == (2, 3)


def test_story_badges_and_catches() -> None:
    progress = GAME.begin(read(START))
    got = step(progress, START, replace(START, flags=(0x51, 0x867, 0x3E9, 0x860), caught=(252,)))
    assert got == {"story": 1.0, "badges": 1.0, "caught": 1.0}  # items and the starter's flag are no story
    assert step(progress, START, replace(START, flags=(0x51,))) == {}  # set again: known


def test_levels_and_money_count_above_the_best() -> None:
    poor = replace(START, money=1000, party=[Mon(5, 6, 252, 5, 20, 20)])
    progress = GAME.begin(read(poor))
    rich = replace(poor, money=3000, party=[Mon(5, 6, 252, 7, 20, 20)])
    assert step(progress, poor, rich) == {"levels": 2.0, "money": 2.0}
    assert step(progress, rich, poor) == {}
    assert step(progress, poor, rich) == {}


def test_healing_and_blackout() -> None:
    def with_hp(hp: int, most: int = 20) -> Scene:
        return replace(START, party=[Mon(5, 6, 252, 5, hp, most)])

    progress = GAME.begin(read(with_hp(20)))
    assert step(progress, with_hp(20), with_hp(5)) == {}
    assert step(progress, with_hp(5), with_hp(15)) == {"healing": 0.5}
    assert step(progress, with_hp(15), with_hp(17, 22)) == {}  # a level gives HP too
    assert step(progress, with_hp(17, 22), with_hp(0, 22)) == {"blackout": 1.0}
    assert step(progress, with_hp(0, 22), with_hp(0, 22)) == {}
    assert step(progress, with_hp(0, 22), with_hp(22, 22)) == {}  # carried home is no visit to the nurse
    assert step(progress, with_hp(22), with_hp(0, 22)) == {"blackout": 1.0}
    assert progress["blackouts"] == 2


def test_success_is_a_starter_and_the_champion_ends_the_game() -> None:
    asked = replace(START, flags=(0x52, 0x860))  # both are set when the bag is opened, before the choice
    progress = GAME.begin(read(START))
    step(progress, START, asked)
    assert GAME.metrics(progress, read(asked))["success"] == 0
    chosen = replace(asked, party=[Mon(5, 6, 252, 5, 20, 20)])
    step(progress, asked, chosen)
    assert GAME.metrics(progress, read(chosen))["success"] == 1
    assert not GAME.over(read(chosen), progress)
    assert GAME.over(read(replace(chosen, flags=(0x864,))), progress)


def test_milestones_stay_reached() -> None:
    progress = GAME.begin(read(START))
    step(progress, START, FIRST)
    metrics = GAME.metrics(progress, read(START))
    reached = {"running", "named", "littleroot", "clock_set", "intro_done", "rivals_house", "starter", "oldale"}
    reached |= {"pokedex", "first_badge"}
    assert {name for name in progress["milestones"] if metrics[name]} == reached
    assert (metrics["petalburg"], metrics["champion"]) == (0.0, 0.0)


def test_progress_survives_json() -> None:
    progress = GAME.begin(read(START))
    step(progress, START, FIRST)
    step(progress, FIRST, SECOND)
    again = json.loads(json.dumps(progress))
    assert again == progress
    assert step(again, SECOND, FIRST) == step(progress, SECOND, FIRST)


@pytest.mark.parametrize("scene", [START, FIRST, SECOND])
def test_features(scene: Scene) -> None:
    state = read(scene)
    out = np.full(len(GAME.feature_names), np.nan, np.float32)
    GAME.features(state, GAME.begin(state), out)
    assert np.all(np.abs(out) <= 1)
    named = dict(zip(GAME.feature_names, out.tolist(), strict=True))
    assert named["in_battle"] == (scene.battle is not None)
    assert named["party_size"] == pytest.approx(len(scene.party) / 6)
    assert named["badges"] == pytest.approx(state.badges.bit_count() / 8)
    if scene is SECOND:
        assert named["foe_hp"] == pytest.approx(1 / 95)
        assert (named["move_menu"], named["trainer_battle"]) == (1.0, 1.0)
    if scene is FIRST:
        assert (named["block_+1_+0"], named["block_+2_+2"]) == (1.0, pytest.approx(0.8))
        assert named["hp_1"] == pytest.approx(21 / 27)


def test_map_names() -> None:
    assert map_name(0, 49) == "Route 134"
    assert map_name(0, 10) == "Oldale Town"
    assert map_name(24, 43) == "Victory Road 1F"
    assert map_name(24, 77) == "Sky Pillar entrance"
    assert map_name(24, 107) == "Meteor Falls Steven"
    assert map_name(99, 1) == "99.1"
    assert len(set(MAP_NAMES.values())) == len(MAP_NAMES)


def test_the_contract_of_the_class() -> None:
    assert set(GAME.reward_weights) >= {"maps", "tiles", "story", "badges", "levels", "caught", "money", "healing"}
    assert GAME.reward_weights["blackout"] < 0
    assert (GAME.frame_skip, GAME.max_steps) == (6, 10_000)
    assert [action.name for action in GAME.actions] == ["noop", "up", "down", "left", "right", "a", "b"]
    assert PokemonEmeraldWithStart.actions[-1].buttons == ("start",)
    buttons = {button for action in PokemonEmeraldWithStart.actions for button in action.buttons}
    assert buttons <= set(GBA_BUTTONS)


def test_another_rom_is_refused() -> None:
    with pytest.raises(RomError, match="f3ae088181bf583e55daf962a92bb46f4f1d07b7"):
        expect_sha1(Rom(ROM, "park.gba"), dict(GAME.known_sha1), GAME.title)


def test_place_cell_and_words() -> None:
    first, second = read(FIRST), read(SECOND)
    assert GAME.place(first) == ("Route 101", 7, 0)
    assert GAME.place(State()) is GAME.cell(State()) is None
    assert GAME.cell(first) == GAME.cell(read(replace(FIRST, x=5)))
    assert len({GAME.cell(first), GAME.cell(second), GAME.cell(read(replace(FIRST, flags=(0x51,))))}) == 3
    words = GAME.describe(first)
    assert "May B in Route 101 at (7, 0), facing left; a text box is open; the menu is open" in words
    assert "Mudkip L9 21/27 HP, Dog L3 0/14 HP; badges 2, money 3210, species caught 3." in words
    assert "trainer battle against species 310 L34, 1 of 95 HP" in GAME.describe(second)
    assert GAME.describe(State(screen="title")) == "No game is running; screen: title."


def test_no_two_maps_share_a_name() -> None:
    assert len(set(MAP_NAMES.values())) == len(MAP_NAMES)
