"""Lantern's meaning, without an emulator where it can be."""

import json

import numpy as np
import pytest

from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.game.lantern import Lantern
from parcade.game.lantern.state import BLOCK, GAME_OVER, LanternState
from parcade.game.lantern.way import door_facts, next_goal, walking_distance

GAME = Lantern()


class Bytes:
    """Memory that is only a block of bytes."""

    def __init__(self, block):
        self.block = block

    def read(self, address, length):
        return self.block[address - BLOCK : address - BLOCK + length]


def state(**changes) -> LanternState:
    """A state whose block is put together here, field by field, from the README's table."""
    block = bytearray(256)
    block[0:2] = b"LN"
    values = {"mode": 2, "floor": 1, "x": 80, "y": 72, "hearts": 6, "room": 1, "grid_w": 3, "grid_h": 2} | changes
    offsets = {"mode": 2, "floor": 3, "x": 10, "y": 11, "facing": 12, "hearts": 13, "sword": 15, "invulnerable": 16}
    offsets |= {"keys": 17, "room": 22, "grid_w": 23, "grid_h": 24, "rooms_seen": 25, "floors_cleared": 26}
    offsets |= {"keys_taken": 29, "doors_opened": 30, "chests_opened": 31, "hits_taken": 35}
    words = {"seed": 4, "rng": 6, "frame": 8, "coins": 18, "kills": 20, "rooms_seen_total": 27}
    for name, value in values.items():
        if name in offsets:
            block[offsets[name]] = value
        elif name in words:
            block[words[name] : words[name] + 2] = value.to_bytes(2, "little")
        else:
            start = {"doors": 48, "seen": 64, "foes": 96, "objects": 144, "cells": 160}[name]
            block[start : start + len(value)] = bytes(value)
    return GAME.read(Bytes(bytes(block)))


def test_every_field_is_read_from_its_place():
    read = state(coins=300, kills=258, rooms_seen_total=513, keys=1, hearts=5, facing=3, x=17, frame=65535)
    assert (read.coins, read.kills, read.rooms_seen_total) == (300, 258, 513)
    assert (read.keys, read.hearts, read.facing, read.x, read.frame) == (1, 5, 3, 17, 65535)


@pytest.mark.parametrize(
    ("before", "after", "part", "amount"),
    [
        ({}, {"rooms_seen_total": 1}, "new_room", 1),
        ({}, {"keys_taken": 1}, "key", 1),
        ({}, {"doors_opened": 1}, "door", 1),
        ({}, {"floors_cleared": 1}, "floor", 1),
        ({"coins": 2}, {"coins": 5}, "coin", 3),
        ({}, {"kills": 2}, "kill", 2),
        ({"hearts": 6}, {"hearts": 4}, "hurt", 2),
        ({}, {"mode": GAME_OVER}, "death", 1),
    ],
)
def test_reward_parts(before, after, part, amount):
    parts = GAME.reward(GAME.begin(state(**before)), state(**before), state(**after))
    assert parts.pop("step") == 1
    assert parts == {part: amount}


def test_healing_is_no_reward_and_no_harm():
    assert GAME.reward(GAME.begin(state(hearts=3)), state(hearts=3), state(hearts=5)) == {"step": 1.0}


def test_coming_nearer_to_the_key_is_rewarded_and_going_back_takes_it_away():
    objects = [1, 8, 3, 0]  # a key in cell (8, 3): pixel (128, 64)
    far, near = state(objects=objects, x=80, y=64), state(objects=objects, x=96, y=64)
    progress = GAME.begin(far)
    assert GAME.reward(progress, far, near)["approach"] == 1.0
    assert GAME.reward(progress, near, far)["approach"] == -1.0


def test_the_goal_is_the_unseen_room_then_with_a_key_the_lock():
    doors, seen = [0] * 16, [0] * 16
    doors[1] = 0b1100  # west and east
    doors[2] = 0b0100 | 0b0010 | 0b0010 << 4  # west, and a locked door south
    seen[1] = seen[2] = 1
    assert next_goal(state(doors=doors, seen=seen))[:3] == (1, 0, 72)  # west: room 0 is unseen
    assert next_goal(state(doors=doors, seen=seen, keys=1))[:3] == (1, 144, 72)  # east: the lock is one room away
    assert next_goal(state(doors=doors, seen=seen, keys=1, room=2))[:3] == (2, 72, 128)  # the lock itself
    assert next_goal(state(seen=[1] * 16)) is None


def test_distance_is_walked_round_walls():
    cells = [0] * 80
    for row in range(7):
        cells[row * 10 + 5] = 1  # a wall with a gap in the last row
    objects = [1, 8, 3, 0]
    here = state(cells=cells, objects=objects, x=32, y=64)  # cell (2, 3)
    assert walking_distance(here, next_goal(here)) == 6 + 2 * 4
    assert walking_distance(state(cells=cells, objects=objects, x=32, y=70), next_goal(here)) < 14


def test_door_facts_tell_only_what_was_seen():
    doors, seen = bytearray(16), bytearray(16)
    doors[1], doors[0], doors[4] = 0b0100, 0b1010, 0b0001
    seen[1] = 1
    assert door_facts(1, bytes(doors), bytes(seen))[2] == (1.0, 0.0, 1.0, 0.0)  # west: unseen, one room away
    seen[0] = 1
    assert door_facts(1, bytes(doors), bytes(seen))[2] == (1.0, 0.0, 0.5, 0.0)  # beyond it: two rooms away


def test_over_and_metrics():
    progress = GAME.begin(state())
    assert not GAME.over(state(), progress)
    assert GAME.over(state(mode=GAME_OVER), progress)
    assert GAME.over(state(floors_cleared=1), progress)
    assert not Lantern(floors=2).over(state(floors_cleared=1), progress)
    metrics = GAME.metrics(progress, state(floors_cleared=1, coins=4, hearts=5))
    assert set(metrics) == set(GAME.metric_names)
    assert (metrics["success"], metrics["coins"], metrics["hearts"]) == (1.0, 4, 2.5)
    with pytest.raises(SettingsError):
        Lantern(floors=0)


def test_every_floor_has_its_steps():
    assert Lantern().max_steps == 600
    assert Lantern(floors=3).max_steps == 1800


def test_features_fit_their_names_and_stay_small():
    console = GameBoy(builtin_rom("lantern.gb"))
    rng = np.random.default_rng(0)
    out = np.full(len(GAME.feature_names), np.nan, np.float32)
    for seed in range(5):
        GAME.start(console, seed)
        progress = GAME.begin(GAME.read(console))
        for _ in range(60):
            console.advance(1 << int(rng.integers(5)), 6, draw=False)
            GAME.features(GAME.read(console), progress, out)
            assert np.isfinite(out).all()
            assert np.abs(out).max() <= 2.5
    assert len(set(GAME.feature_names)) == len(GAME.feature_names)
    json.dumps(progress)
    console.close()


def test_the_boot_leads_to_the_title_and_a_restart_to_the_wanted_dungeon():
    console = GameBoy(builtin_rom("lantern.gb"))
    GAME.start(console, 77)
    first = GAME.read(console)
    assert (first.block[:2], first.mode, first.version) == (b"LN", 2, 1)
    GAME.start(console, 78)
    second = GAME.read(console)
    assert first.seed != second.seed
    assert (second.frame, second.hearts, second.rooms_seen) == (first.frame, 6, 1)
    console.close()


def test_place_cell_and_words():
    here = state(room=6, x=32, y=48, keys=1, hearts=5, rooms_seen=3, kills=2, coins=7)
    assert GAME.place(here) == ("floor 1", 2 * 10 + 2, 8 + 2)
    assert GAME.cell(here) == GAME.cell(state(room=6, x=90, keys=1))  # a step inside a room is nothing new
    assert GAME.cell(here) != GAME.cell(state(room=6))
    words = GAME.describe(here)
    for part in ("Floor 1, room 3 of row 2", "2.5 of", "the key", "rooms seen 3, foes killed 2, coins 7", "playing"):
        assert part in words


def test_a_state_that_is_given_is_where_episodes_start(tmp_path):
    console = GameBoy(builtin_rom("lantern.gb"))
    GAME.start(console, 5)
    console.write(BLOCK + 18, (77).to_bytes(2, "little"))  # coins, which no new game has
    (tmp_path / "rich.state").write_bytes(console.save())
    console.close()
    env = make(EnvSpec(game="lantern", state=str(tmp_path / "rich.state")))
    for seed in (1, 2):
        env.reset(seed=seed)
        assert GAME.read(env.console).coins == 77
    env.close()
