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

from pokemon_red_encoder import FIRST, SECOND, encode

from parcade.console.base import button_mask
from parcade.console.gameboy import GameBoy
from parcade.console.rom import expect_sha1, read_rom
from parcade.errors import EnvError, RomError
from parcade.game.memory_map import decode_bcd
from parcade.game.pokemon_red import title
from parcade.game.pokemon_red.memory import Mon, RedState, decode_items, decode_party, read_red_state
from parcade.game.pokemon_red.title import BOOT_SCRIPT, PokemonRed, PokemonRedWithMenu

PARK = Path(__file__).parents[2] / "roms" / "park.gb"
BYTE = st.integers(0, 255)
WORD = st.integers(0, 65535)
MON = st.tuples(BYTE, BYTE, WORD, WORD, BYTE, st.tuples(BYTE, BYTE, BYTE, BYTE))


@pytest.fixture(scope="module")
def console() -> Iterator[GameBoy]:
    console = GameBoy(read_rom(PARK))
    console.advance(0, 100)
    yield console
    console.close()


class Image:
    """Work RAM as bytes, for what needs no console."""

    def __init__(self, work: bytes) -> None:
        self.work = work

    def read(self, address: int, length: int) -> bytes:
        return self.work[address - 0xC000 : address - 0xC000 + length]


def state_of(values: dict[str, Any], **changes: Any) -> RedState:
    """A state without a console, for the pure part."""
    merged = values | changes
    merged["party"] = tuple(Mon(*mon) for mon in merged["party"])
    merged["opponent"], merged["fighter"] = Mon(*merged["opponent"]), Mon(*merged["fighter"])
    return RedState(**merged)


CHARMANDER = (0xB0, 5, 19, 19, 0, (10, 45, 0, 0))


def test_the_two_images_differ_in_every_field() -> None:
    assert set(FIRST) == set(SECOND) == set(RedState._fields)
    assert not [name for name in FIRST if FIRST[name] == SECOND[name]]


@pytest.mark.parametrize("values", [FIRST, SECOND], ids=["first", "second"])
def test_every_field_is_read_back(console: GameBoy, values: dict[str, Any]) -> None:
    console.write(0xC000, encode(values))
    console.advance(0, 2)
    read = read_red_state(console)._asdict()
    assert {name: read[name] for name in values if read[name] != values[name]} == {}


@given(st.lists(MON, max_size=6), st.integers(0, 999_999), st.integers(0, 9999))
def test_party_and_purse_survive_the_image(party: list[Any], money: int, coins: int) -> None:
    state = read_red_state(Image(encode(SECOND | {"party": tuple(party), "money": money, "coins": coins})))
    assert state.party == tuple(party)
    assert (state.money, state.coins) == (money, coins)
    assert state.level_sum == sum(mon[1] for mon in party)


@given(
    st.sets(st.integers(0, 2559), max_size=40),
    st.sets(st.integers(1, 151)),
    st.lists(st.tuples(BYTE, BYTE), max_size=20),
)
def test_flags_and_items_survive_the_image(events: set[int], owned: set[int], items: list[tuple[int, int]]) -> None:
    bits, dex = sum(1 << event for event in events), sum(1 << number - 1 for number in owned)
    state = read_red_state(Image(encode(SECOND | {"events": bits, "owned": dex, "items": tuple(items)})))
    assert {event for event in range(2560) if state.events >> event & 1} == events
    assert state.owned.bit_count() == len(owned)
    assert state.items == tuple(items)


def test_either_bit_tells_of_a_script() -> None:
    ram = bytearray(encode(FIRST))
    for byte, scripted, ignored in (
        (0x00, False, False),
        (0x01, True, False),
        (0x80, True, False),
        (0x7E, False, True),
    ):
        ram[0xD730 - 0xC000] = byte
        state = read_red_state(Image(bytes(ram)))
        assert (state.scripted, state.input_ignored) == (scripted, ignored)


def test_control_ends_with_text_battles_and_scripts() -> None:
    free = state_of(FIRST, scripted=False)
    assert free.in_control
    for change in ({"text_open": True}, {"battle": 1}, {"scripted": True}, {"input_ignored": True}, {"in_game": False}):
        assert not free._replace(**change).in_control


@given(st.binary(min_size=1, max_size=6))
def test_bcd_never_leaves_its_digits(raw: bytes) -> None:
    assert 0 <= decode_bcd(raw) < 100 ** len(raw)


@given(BYTE)
def test_wild_counts_are_cut(count: int) -> None:
    assert len(decode_party(bytes([count]) + bytes(7 + 6 * 44))) == min(count, 6)
    assert len(decode_items(bytes([count]) + bytes(41))) == min(count, 20)


@given(st.integers(0, 2**32))
def test_any_memory_gives_a_state_and_finite_features(seed: int) -> None:
    game = PokemonRed()
    state = game.read(Image(np.random.default_rng(seed).bytes(0x2000)))
    out = np.full(len(game.feature_names), np.nan, np.float32)
    game.features(state, game.begin(state), out)
    assert out.min() >= 0
    assert out.max() <= 1


class TestReward:
    def test_each_part_once(self) -> None:
        game, before = PokemonRed(), state_of(FIRST)
        after = state_of(FIRST, x=4, party=(CHARMANDER,), badges=1, owned=8, events=1 << 0x22 | 1 << 0x21)
        progress = game.begin(before)
        parts = game.reward(progress, before, after)
        assert parts == {"explore": 1.0, "events": 2.0, "badges": 1.0, "caught": 1.0, "levels": 5.0}
        assert set(parts) <= set(game.reward_weights)
        assert game.reward(progress, after, after) == {}

    def test_a_tile_counts_once_and_not_in_battle(self) -> None:
        game, start = PokemonRed(), state_of(FIRST)
        progress = game.begin(start)
        fighting = state_of(FIRST, x=9, battle=1)
        assert game.reward(progress, start, fighting) == {}
        assert game.reward(progress, fighting, state_of(FIRST, x=9)) == {"explore": 1.0}
        assert game.reward(progress, start, state_of(FIRST, x=9)) == {}

    def test_the_museum_ticket_is_no_progress(self) -> None:
        game, start = PokemonRed(), state_of(FIRST)
        assert game.reward(game.begin(start), start, state_of(FIRST, events=1 << 0x68)) == {}

    def test_healing_counts_but_levels_catches_and_blackouts_do_not_heal(self) -> None:
        game = PokemonRed()
        hurt = state_of(FIRST, party=((0xB0, 5, 9, 18, 0, (0,) * 4),))
        well = state_of(FIRST, party=((0xB0, 5, 18, 18, 0, (0,) * 4),))
        grown = state_of(FIRST, party=((0xB0, 6, 20, 20, 0, (0,) * 4),))
        out_cold = state_of(FIRST, party=((0xB0, 5, 0, 18, 0, (0,) * 4),))
        assert game.reward(game.begin(hurt), hurt, well) == {"healing": 0.5}
        assert game.reward(game.begin(hurt), hurt, grown) == {"levels": 1.0}
        assert game.reward(game.begin(hurt), hurt, out_cold) == {"blackout": 1.0}
        assert game.reward(game.begin(out_cold), out_cold, well) == {}

    def test_a_monster_left_behind_and_taken_again_brings_no_levels(self) -> None:
        game, two = PokemonRed(), state_of(FIRST, party=(CHARMANDER, CHARMANDER))
        one = state_of(FIRST, party=(CHARMANDER,))
        progress = game.begin(two)
        game.reward(progress, two, one)
        assert game.reward(progress, one, two) == {}

    def test_the_title_screen_means_nothing(self) -> None:
        game, start = PokemonRed(), state_of(FIRST)
        assert game.reward(game.begin(start), start, state_of(SECOND)) == {}


def test_milestones_and_names() -> None:
    game, start = PokemonRed(), state_of(FIRST)
    progress = game.begin(start)
    metrics = game.metrics(progress, start)
    assert tuple(metrics) == game.metric_names
    assert metrics["success"] == metrics["pallet_town"] == 0
    end = state_of(FIRST, map_id=0, events=1 << 0x22)
    game.reward(progress, start, end)
    metrics = game.metrics(progress, end)
    assert metrics["success"] == metrics["starter"] == metrics["pallet_town"] == 1
    assert metrics["maps"] == 2
    assert not game.over(end, progress)
    assert json.loads(json.dumps(progress)) == progress


def test_features_are_named_and_filled() -> None:
    game = PokemonRed()
    for state in (state_of(FIRST), state_of(SECOND)):
        out = np.full(len(game.feature_names), np.nan, np.float32)
        game.features(state, game.begin(state), out)
        named = dict(zip(game.feature_names, out.tolist(), strict=True))
        assert len(named) == len(out)
        assert out.max() <= 1
        assert named["map"] == pytest.approx(state.map_id / 255)
        assert named["trainer_battle"] == (state.battle == 2)
        assert named["party_0_level"] == pytest.approx(state.party[0].level / 100 if state.party else 0)
        assert named["opponent_level"] == pytest.approx(state.opponent.level / 100)
        assert named["starter"] == (state.events >> 0x22 & 1)


def test_features_stay_within_their_range() -> None:
    game = PokemonRed()
    state = state_of(FIRST, map_id=0x1C, y=143, party=((0xB0, 5, 190, 19, 0, (0,) * 4),))  # Route 17, HP over maximum
    out = np.full(len(game.feature_names), np.nan, np.float32)
    game.features(state, game.begin(state), out)
    named = dict(zip(game.feature_names, out.tolist(), strict=True))
    assert named["party_0_hp"] == named["hp_fraction"] == 1
    assert 0.99 < named["y"] < 1


def test_actions_and_boot_script_use_real_buttons() -> None:
    for game in (PokemonRed(), PokemonRedWithMenu()):
        masks = [button_mask(GameBoy.buttons, *action.buttons) for action in game.actions]
        assert len(set(masks)) == len(masks)
    assert not any({"start", "select"} & set(action.buttons) for action in PokemonRed.actions)
    assert all(button_mask(GameBoy.buttons, *buttons) >= 0 and frames > 0 for buttons, frames in BOOT_SCRIPT)


def test_a_loaded_game_is_not_booted_and_a_dead_one_is_told(console: GameBoy, monkeypatch: pytest.MonkeyPatch) -> None:
    console.write(0xC000, encode(FIRST))
    PokemonRed().start(console, seed=3)
    assert read_red_state(console).money == 3000
    console.write(0xC000, encode(SECOND))
    monkeypatch.setattr(title, "BOOT_FRAME_LIMIT", 120)
    with pytest.raises(EnvError, match=r"did not reach the start of play in 120 frames.*--state"):
        PokemonRed().start(console, seed=3)


def test_other_roms_are_refused() -> None:
    with pytest.raises(RomError, match=r"pokemon-red: park\.gb has SHA-1 .* expected .*Red, USA and Europe"):
        expect_sha1(read_rom(PARK), dict(PokemonRed.known_sha1), PokemonRed.name)


def test_place_cell_and_words() -> None:
    game, room = PokemonRed(), state_of(FIRST)
    assert game.place(room) == ("the player's room", 3, 6)
    assert game.place(state_of(FIRST, map_id=0x99)) == ("map 153", 3, 6)
    assert game.place(state_of(SECOND)) is game.cell(state_of(SECOND)) is None
    assert game.cell(room) == game.cell(state_of(FIRST, x=2))
    assert len({game.cell(room), game.cell(state_of(FIRST, x=4)), game.cell(state_of(FIRST, badges=1))}) == 3
    assert game.describe(room) == "In the player's room at (3, 6); party: none; badges 0, money 3000, species owned 0."
    words = game.describe(state_of(SECOND, in_game=True))
    assert "trainer battle against species 34 L12, 300 of 310 HP" in words
    assert "species 176 L14 37/41 HP" in words
    assert game.describe(state_of(SECOND)) == "No game is loaded."
