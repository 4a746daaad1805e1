"""Every title's fields, milestones, place, cell and words: on real consoles, on encoded memory, and on noise."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import links_awakening_encoder as link
import pokemon_red_encoder as red
from emerald_encoder import Foe, Mon, PlainMemory, Scene, cartridge

from parcade.console.base import button_mask
from parcade.console.gameboy import BUTTONS as GB_BUTTONS
from parcade.console.gameboy import GameBoy
from parcade.console.gba import GBA_BUTTONS, GameBoyAdvance
from parcade.console.rom import builtin_rom, read_rom
from parcade.game.base import Game
from parcade.game.condition_parser import Name, parse
from parcade.game.lantern import Lantern
from parcade.game.meadow import Meadow
from parcade.game.milestone import MilestoneTracker
from parcade.game.titles import find_title, title_names

PARK = read_rom(Path(__file__).parents[2] / "roms" / "park.gba").data
TOWN = Scene(offset=36, key=77, group=0, number=9, x=3, y=2, width=9, height=8, name="MAY", flags=(0x86F,))


class Ram:
    """Memory that is nothing but bytes at addresses."""

    def __init__(self, *areas: tuple[int, bytes]) -> None:
        self._areas = areas

    def read(self, address: int, length: int) -> bytes:
        start, data = next((a, d) for a, d in self._areas if a <= address < a + len(d))
        return data[address - start : address - start + length]


class Noise:
    """Memory that holds anything, always the same."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def read(self, address: int, length: int) -> bytes:
        return np.random.default_rng([self._seed, address]).bytes(length)

    def read_bank(self, bank: int, address: int, length: int) -> bytes:
        return self.read(address, length)


def link_memory(**changes: Any) -> Ram:
    work, high = link.encode(link.FIRST | changes, color=False)
    return Ram((0xC000, work), (0xFF80, high))


def red_memory(**changes: Any) -> Ram:
    return Ram((0xC000, red.encode(red.FIRST | changes)))


def emerald_memory(**changes: Any) -> PlainMemory:
    return PlainMemory(*replace(TOWN, **changes).images(), cartridge(PARK, {}))


ENCODED: dict[str, Callable[..., Any]] = {
    "links-awakening": link_memory,
    "pokemon-red": red_memory,
    "pokemon-emerald": emerald_memory,
}
SECOND = {
    "links-awakening": link.SECOND,
    "pokemon-red": red.SECOND | {"in_game": True},
    "pokemon-emerald": {
        **{"party": [Mon(5, 6, 252, 7, 10, 20)], "flags": (0x861, 0x867, 0x500, 0x51), "money": 3000, "coins": 7},
        **{"group": 24, "number": 11, "x": 7, "y": 6, "caught": (1, 2), "seen": (1, 2, 3), "variables": {0x4092: 7}},
        **{"battle": (Foe(254, 36, 80, 101), Foe(310, 34, 1, 95)), "battle_type": 8, "opponent": 520},
        **{"callback2": 0x08038421, "controller": 0x08057BFD, "message_box": 2, "facing": 3},
    },
}
TITLES = [find_title(name) for name in title_names()]
TITLES += [Lantern(floors=3), Lantern(floors=1000), Meadow(goal="badge"), Meadow(goal="town")]


def values(game: Game[Any, Any], state: Any) -> dict[str, float]:
    """All fields of a moment."""
    progress = game.begin(state)
    return {
        name: meaning.reader(name)(progress if meaning.count is not None else state)
        for name, meaning in game.fields.items()
    }


def speak(game: Game[Any, Any], state: Any) -> str:
    """Ask everything that must never fail, and return the words."""
    place, cell, words = game.place(state), game.cell(state), game.describe(state)
    assert place is None or [type(part) for part in place] == [str, int, int]
    assert isinstance(cell, Hashable)
    hash(cell)
    assert words
    assert words.endswith(".")
    assert "\n" not in words
    return words


def check_ranges(game: Game[Any, Any], state: Any) -> None:
    for name, value in values(game, state).items():
        meaning = game.fields[name]
        assert meaning.low <= value <= meaning.high, f"{name} is {value}, {meaning.range} was said"


@pytest.mark.parametrize("game", TITLES, ids=lambda game: game.name)
def test_fields_and_milestones_are_sound(game: Game[Any, Any]) -> None:
    assert game.fields
    for name, meaning in game.fields.items():
        assert parse(name) == Name(name, 1), "a field's name is a name in conditions"
        assert meaning.words
        assert meaning.low < meaning.high
        assert (meaning.kind == "choice") == bool(meaning.values)
    tracker = MilestoneTracker(game.milestones, game.fields)
    assert len(tracker.names) >= 3
    assert all(milestone.words for milestone in game.milestones)
    if "success" in game.metric_names:
        assert game.success_milestone in tracker.names
    assert list(game.milestone_metrics) == list(tracker.names)


def test_a_milestone_that_is_a_metric_already_keeps_its_name() -> None:
    assert Lantern().milestone_metrics == {
        "second_room": "milestone_second_room",
        "key": "milestone_key",
        "door": "milestone_door",
        "lantern": "success",
    }
    assert Lantern(floors=3).milestone_metrics["lantern"] == "milestone_lantern"
    assert Lantern(floors=3).milestone_metrics["floors"] == "success"
    meadow = Meadow(goal="badge").milestone_metrics
    assert (meadow["town"], meadow["badge"], meadow["hall"]) == ("town", "badge", "milestone_hall")
    for name in ("links-awakening", "pokemon-red", "pokemon-emerald"):
        metrics = find_title(name).milestone_metrics
        assert all(own == metric for own, metric in metrics.items())


@pytest.mark.parametrize("game", TITLES[:6], ids=lambda game: game.name)
def test_nothing_fails_whatever_memory_holds(game: Game[Any, Any]) -> None:
    for seed in range(40):
        state = game.read(Noise(seed))
        speak(game, state)
        for name, meaning in game.fields.items():
            assert meaning.count is not None or math.isfinite(meaning.reader(name)(state))


@pytest.mark.parametrize("name", ENCODED)
def test_fields_of_encoded_memory_are_in_their_ranges(name: str) -> None:
    game = find_title(name)
    first, second = (game.read(ENCODED[name](**changes)) for changes in ({}, SECOND[name]))
    for state in (first, second):
        check_ranges(game, state)
        speak(game, state)
    one, other = values(game, first), values(game, second)
    assert sum(one[field] != other[field] for field in game.fields) > len(game.fields) // 3


@pytest.mark.parametrize(
    ("name", "milestone", "changes"),
    [
        ("links-awakening", "sword", {"sword": 1}),
        ("links-awakening", "toadstool", {"toadstool": 1}),
        ("links-awakening", "tarin", {"tarin": 1}),
        ("links-awakening", "tail_key", {"door_keys": (1, 0, 0, 0)}),
        ("links-awakening", "tail_cave", {"category": 1, "map_id": 0}),
        ("links-awakening", "feather", {"bag": (10, *(0,) * 9)}),
        ("links-awakening", "first_instrument", {"instruments": 1}),
        ("pokemon-red", "pallet_town", {"map_id": 0}),
        ("pokemon-red", "oaks_lab", {"map_id": 0x28}),
        ("pokemon-red", "starter", {"events": 1 << 0x22}),
        ("pokemon-red", "pokedex", {"events": 1 << 0x25}),
        ("pokemon-red", "beat_misty", {"events": 1 << 0xBF}),
        ("pokemon-emerald", "clock_set", {"flags": (0x86F, 0x51)}),
        ("pokemon-emerald", "starter", {"party": [Mon(5, 6, 252, 5, 20, 20)]}),
        ("pokemon-emerald", "intro_done", {"variables": {0x4092: 7}}),
        ("pokemon-emerald", "first_badge", {"flags": (0x86F, 0x867)}),
        ("pokemon-emerald", "champion", {"flags": (0x86F, 0x864)}),
    ],
)
def test_a_milestone_and_the_metric_of_its_name_are_the_same_fact(
    name: str, milestone: str, changes: dict[str, Any]
) -> None:
    game, memory = find_title(name), ENCODED[name]
    before, after = game.read(memory()), game.read(memory(**changes))
    progress, tracker = game.begin(before), MilestoneTracker(game.milestones, game.fields)
    tracker.begin(progress, before)
    assert game.metrics(progress, before)[milestone] == 0
    game.reward(progress, before, after)
    new = [tracker.names[number] for number in tracker.step(progress, before, after)]
    assert milestone in new
    told = game.metrics(progress, after)
    assert {own for own in tracker.names if told[own]} == {
        own for number, own in enumerate(tracker.names) if tracker.reached >> number & 1
    }


def test_what_link_holds_is_told() -> None:
    game = find_title("links-awakening")
    words = game.describe(game.read(link_memory(bag=(10, 3, *(0,) * 8))))
    assert "holds power bracelet, shield, roc's feather" in words


@pytest.fixture
def lantern() -> Iterator[GameBoy]:
    console = GameBoy(builtin_rom("lantern.gb"))
    yield console
    console.close()


def test_lantern_speaks_in_every_mode(lantern: GameBoy) -> None:
    game = Lantern()
    assert game.describe(game.read(lantern)) == "No game has begun."  # the boot animation
    modes = set()
    for _ in range(40):
        lantern.advance(0, 4, draw=False)
        state = game.read(lantern)
        modes.add(state.mode)
        assert (game.place(state), game.cell(state)) == (None, None)
    assert 1 in modes  # the title
    game.start(lantern, 3)
    state = game.read(lantern)
    check_ranges(game, state)
    assert game.place(state) is not None
    assert "playing" in speak(game, state)
    lantern.advance(button_mask(GB_BUTTONS, "start"), 4, draw=False)
    lantern.advance(0, 4, draw=False)
    assert "paused" in speak(game, game.read(lantern))
    lantern.write(0xC100 + 13, bytes([0]))
    lantern.write(0xC100 + 2, bytes([5]))
    assert "0 of 3 hearts" in speak(game, game.read(lantern))
    assert "game over" in speak(game, game.read(lantern))


def test_lantern_milestones_come_in_order_on_a_real_console(lantern: GameBoy) -> None:
    """The hero follows the way on the map, as the features show it, until a floor is cleared."""
    game = Lantern()
    masks = [button_mask(GB_BUTTONS, *game.actions[index].buttons) for index in range(6)]
    first_way = game.feature_names.index("way_up")
    out = np.zeros(len(game.feature_names), np.float32)
    rng = np.random.default_rng(0)
    for seed in range(20):
        game.start(lantern, seed)
        state = game.read(lantern)
        progress, tracker, order = game.begin(state), MilestoneTracker(game.milestones, game.fields), []
        tracker.begin(progress, state)
        assert tracker.reached == 0
        for _ in range(600):
            game.features(state, progress, out)
            ways = [index + 1 for index, way in enumerate(out[first_way : first_way + 4]) if way > 0]
            action = int(rng.choice(ways)) if ways and rng.random() < 0.8 else int(rng.integers(1, 6))
            lantern.advance(masks[action], 6, draw=False)
            before, state = state, game.read(lantern)
            game.reward(progress, before, state)
            order += [tracker.names[number] for number in tracker.step(progress, before, state)]
            check_ranges(game, state)
            if game.over(state, progress):
                break
        if game.metrics(progress, state)["success"]:
            assert order == ["second_room", "key", "door", "lantern"]
            return
        assert "lantern" not in order
    pytest.fail("no dungeon was cleared")


def test_meadow_speaks_in_every_mode() -> None:
    console, game, modes, words = GameBoyAdvance(builtin_rom("meadow.gba")), Meadow(), set(), set()
    try:
        for _ in range(30):
            console.advance(0, 10, draw=False)
            words.add(speak(game, game.read(console)))
        assert words == {"At the title screen."}
        game.start(console, 5)
        rng = np.random.default_rng(5)
        walk = [*["down"] * 4, *["left"] * 3, "down", *["a"] * 40, *["right"] * 8]
        names = walk + [str(rng.choice(["up", "left", "right", "a", "start", "b"])) for _ in range(500)]
        for name in names:
            console.advance(button_mask(GBA_BUTTONS, name), 7, draw=False)
            console.advance(0, 1, draw=False)
            state = game.read(console)
            modes.add(state.mode)
            check_ranges(game, state)
            speak(game, state)
        for mode in range(2, 11):  # one more than there is
            console.write(0x02000004, bytes([mode]))
            speak(game, game.read(console))
        assert {2, 3, 5, 7} <= modes
    finally:
        console.close()
