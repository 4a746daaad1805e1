"""Meadow, the built-in Game Boy Advance role-playing game; its memory table is in roms/meadow/README.md."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from parcade.console.base import Console, Memory
from parcade.errors import RunError, SettingsError, did_you_mean
from parcade.game.base import FIRST_HELD_OUT_SEED, Action, Features, Game

BLOCK, BLOCK_SIZE = 0x02000000, 358  # the documented part of the 512 bytes
MAGIC = b"MDW1"
MODE, RESTART, RESTARTS, RESTART_SEED = BLOCK + 4, BLOCK + 52, BLOCK + 53, BLOCK + 56
PARTY, MONSTER_SIZE, FOE = 64, 32, 264  # offsets in the block
MODES = ("walk", "text", "battle", "menu", "shop", "transition", "blackout", "victory")  # from mode 2 on
MAPS = (
    *("home", "mosswick", "mosswick_nurse", "mosswick_shop", "neighbour", "route1", "route2"),
    *("craghaven", "craghaven_nurse", "craghaven_shop", "hall", "cottage"),
)
SAVED = 1 << 8  # needs START, which only MeadowWithStart has; so it is no feature
FLAGS = {  # name -> bit
    **{"left_house": 0, "first_monster": 1, "first_victory": 2, "route1": 3, "route2": 4, "town": 5, "taro": 6},
    **{"badge": 7, "healed": 9, "bought": 10, "pia": 11, "gift": 12, "caught": 13, "level_gained": 14, "hall": 15},
}
GOALS = ("first_victory", "town", "badge")
LOW_HP = 0.5  # a nurse is worth reward below this fraction of the party's HP
_HEAD = struct.Struct("<4s8B4I4HI4B2H4B2B2x2I192x6B2x32xB4b19xB25s6xH4B")
_MONSTER = struct.Struct("<2B4H5Bx8s8x")
_PARTY_HP = struct.Struct("<" + "2x2H26x" * 6)
_ELEMENT_FACTORS = (  # attacker in rows: plain, leaf, ember, tide, stone; 1 half, 2 normal, 4 double
    *((2, 2, 2, 2, 2), (2, 1, 1, 4, 4), (2, 4, 1, 1, 1), (2, 1, 4, 1, 4), (2, 2, 4, 2, 1)),
)
_ADVANTAGE = {1: -1.0, 2: 0.0, 4: 1.0}
_MOVE_POWER = (0, 35, 40, 40, 40, 40, 40, 0, 0, 60, 60, 60, 60, 0, 30)
_MOVE_ELEMENT = (0, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0)
_SIDES = ((17, 0, 1), (7, 0, -1), (11, -1, 0), (13, 1, 0))  # index in the 5x5 cells and step, in the order of facing
_ENTERED = (0, 2, 3)  # kinds of cells the hero can walk on: free, tall grass, door
_LARGEST_HEIGHT = 30
_MENU_MODE, _YES_NO = 5, 7  # values of mode and submenu


def _mask_of(*kinds: int) -> bytes:
    return bytes(kind in kinds for kind in range(256))


_CELL_MASKS = {"solid": _mask_of(1, 4, 5, 6), "grass": _mask_of(2), "door": _mask_of(3), "talk": _mask_of(5, 6)}


class Monster(NamedTuple):
    """One monster of the party, or the foe."""

    species: int
    level: int
    hp: int
    max_hp: int
    exp: int
    exp_next: int
    attack: int
    defense: int
    speed: int
    element: int
    status: int
    moves: bytes  # four times move, uses left


class MeadowState(NamedTuple):
    """What Meadow's state block means after a step."""

    magic: bytes
    mode: int
    map: int
    x: int
    y: int
    facing: int
    moving: int
    map_w: int
    map_h: int
    frame: int
    rng: int
    seed: int
    money: int
    won: int
    blackouts: int
    caught: int
    encounters: int
    flags: int
    badges: int
    party_size: int
    orbs: int
    potions: int
    species_seen: int
    species_caught: int
    grass_steps: int
    cursor: int
    submenu: int
    version: int
    restart: int
    restarts: int
    restart_seed: int
    steps: int
    in_battle: int
    battle_kind: int
    turn: int
    phase: int
    slot: int
    battle_cursor: int
    foes_left: int
    own_attack: int
    own_defense: int
    foe_attack: int
    foe_defense: int
    under: int
    around: bytes  # 5x5 kinds of cells, row by row
    visited: int
    nurse_map: int
    last_damage: int
    last_factor: int
    last_team: int
    block: bytes  # the bytes all this was read from, for the monsters

    def has(self, flag: str) -> bool:
        """Whether the event flag of this name is set."""
        return bool(self.flags >> FLAGS[flag] & 1)

    def monster(self, slot: int) -> Monster:
        """Return the monster in a party slot; an empty slot is all zero."""
        return Monster(*_MONSTER.unpack_from(self.block, PARTY + MONSTER_SIZE * slot))

    @property
    def foe(self) -> Monster:
        """The foe's monster, all zero outside battles."""
        return Monster(*_MONSTER.unpack_from(self.block, FOE))

    @property
    def levels(self) -> bytes:
        """The levels of the six party slots, 0 where empty."""
        return self.block[PARTY + 1 : PARTY + 6 * MONSTER_SIZE : MONSTER_SIZE]

    @property
    def party_hp(self) -> float:
        """HP of the whole party as a fraction, 0 without monsters."""
        points: tuple[int, ...] = _PARTY_HP.unpack_from(self.block, PARTY)
        return sum(points[::2]) / max(1, sum(points[1::2]))


class Meadow(Game[MeadowState, dict[str, Any]]):
    """Leave the house, choose a monster, win battles, walk to Craghaven, win the badge."""

    name = "meadow"
    title = "Meadow"
    system = "gba"
    builtin_rom = "meadow.gba"
    restarts_itself = True
    actions: ClassVar[tuple[Action, ...]] = (
        Action("wait"),
        Action("up", ("up",), tap=True),
        Action("down", ("down",), tap=True),
        Action("left", ("left",), tap=True),
        Action("right", ("right",), tap=True),
        Action("a", ("a",), tap=True),
        Action("b", ("b",), tap=True),
    )
    metric_names: ClassVar[tuple[str, ...]] = (
        *("success", "left_house", "first_victory", "town", "badge"),
        *("maps_seen", "cells_seen", "battles_won", "level", "caught", "blackouts"),
    )
    reward_weights = {
        "goal": 10.0,
        "new_map": 0.5,
        "new_cell": 0.05,
        "first_monster": 1.0,
        "victory": 1.0,
        "level": 0.5,
        "caught": 0.5,
        "heal": 0.5,
        "trainer": 2.0,
        "town": 3.0,
        "badge": 10.0,
        "blackout": -1.0,
        "step": -0.003,
    }
    frame_skip = 8  # the frames the hero takes for one cell
    max_steps = 1500
    training = {"n_envs": 32, "batch_size": 256, "learning_rate": 5e-4, "total_timesteps": 300_000}
    feature_names = (
        *(f"mode_{mode}" for mode in MODES),
        *(f"on_{place}" for place in MAPS),
        *("x", "y", "facing_down", "facing_up", "facing_left", "facing_right", "moving"),
        *("new_down", "new_up", "new_left", "new_right"),
        *("hp", "level", "exp", "burnt", "party_size", "party_hp"),
        *("in_battle", "wild", "trainer", "leader", "commands", "moves", "message", "battle_over"),
        *("cursor_0", "cursor_1", "cursor_2", "cursor_3", "foe_hp", "foe_level", "level_lead", "advantage", "threat"),
        *("foes_left", "own_attack", "own_defense", "foe_attack", "foe_defense"),
        *("move_0", "move_1", "move_2", "move_3"),
        *("in_party", "in_shop", "in_choice", "menu_cursor", "money", "orbs", "potions"),
        *(f"{kind}_{row}_{column}" for kind in _CELL_MASKS for row in range(5) for column in range(5)),
        *(f"flag_{flag}" for flag in FLAGS),
        *(f"seen_{place}" for place in MAPS),
    )

    def __init__(self, goal: str = "first_victory") -> None:
        if goal not in GOALS:
            raise SettingsError(f"meadow: goal is {goal!r}{did_you_mean(goal, GOALS)}, wanted {', '.join(GOALS)}")
        self.goal = goal  # an episode ends when this flag is set

    def start(self, console: Console, seed: int) -> None:
        """Begin the game of ``seed`` at home; the game itself makes it a pure function of that seed."""
        if bytes(console.read(BLOCK, 4)) != MAGIC or console.read(MODE, 1)[0] == 0:
            _boot(console)
        acknowledged = console.read(RESTARTS, 1)[0]
        console.write(RESTART_SEED, game_seed(seed).to_bytes(4, "little"))
        console.write(RESTART, b"\1")
        for _ in range(30):
            console.advance(0, 1, draw=False)
            if console.read(RESTARTS, 1)[0] != acknowledged:
                break
        else:
            raise RunError("meadow: the game did not take the restart request within 30 frames")
        console.advance(0, 1)  # a picture of the new game, and all buttons released

    def read(self, memory: Memory) -> MeadowState:
        """Return the state block, decoded."""
        block = bytes(memory.read(BLOCK, BLOCK_SIZE))
        return MeadowState._make((*_HEAD.unpack(block), block))

    def begin(self, state: MeadowState) -> dict[str, Any]:
        """Return a record in which only the present cell was visited."""
        progress: dict[str, Any] = {
            "cells": [[0] * _LARGEST_HEIGHT for _ in MAPS],  # cells[map][y]: bit x is set if visited
            "cells_seen": 0,
        }
        _visit(progress, state)
        return progress

    def reward(self, progress: dict[str, Any], before: MeadowState, after: MeadowState) -> dict[str, float]:
        """Return what happened in this step."""
        parts = {"step": 1.0}
        new_cell = _visit(progress, after)
        if after.blackouts > before.blackouts:
            parts["blackout"] = after.blackouts - before.blackouts
        else:  # who is carried to the nurse has neither walked nor been healed
            if new_cell:
                parts["new_cell"] = 1.0
            if after.visited != before.visited:
                parts["new_map"] = (after.visited & ~before.visited).bit_count()
            if before.block[PARTY:256] != after.block[PARTY:256]:
                _party_parts(parts, before, after)
        if after.won > before.won:
            parts["victory"] = after.won - before.won
        risen = after.flags & ~before.flags
        if risen:
            self._flag_parts(parts, risen)
        return parts

    def _flag_parts(self, parts: dict[str, float], risen: int) -> None:
        if risen >> FLAGS[self.goal] & 1:
            parts["goal"] = 1.0
        for part in ("first_monster", "town", "badge"):  # ``badges`` follows its flag only after a text
            if risen >> FLAGS[part] & 1:
                parts[part] = 1.0
        trainers = (risen >> FLAGS["taro"] & 1) + (risen >> FLAGS["pia"] & 1)
        if trainers:
            parts["trainer"] = trainers

    def over(self, state: MeadowState, progress: dict[str, Any]) -> bool:
        """True when the goal is reached; the game itself never ends."""
        return state.has(self.goal)

    def features(self, state: MeadowState, progress: dict[str, Any], out: Features) -> None:
        """Write what a player sees: mode, place, party, battle, menus, bag, the cells around and events."""
        values: list[float] = [0.0] * 20
        if 2 <= state.mode <= 9:
            values[state.mode - 2] = 1.0
        values[8 + state.map] = 1.0
        values += (2 * state.x / max(1, state.map_w - 1) - 1, 2 * state.y / max(1, state.map_h - 1) - 1)
        values += _ONE_OF_FOUR[state.facing & 3]
        values.append(state.moving / 8)
        values += _new_sides(state, progress["cells"])
        own = state.monster(state.slot if state.in_battle else 0)
        values += _party_features(state, own)
        values += _battle_features(state, own) if state.in_battle else _NO_BATTLE
        submenu = state.submenu
        values += (submenu == 2, submenu == 5, submenu == 6, state.cursor / 5)
        values += (min(state.money, 1000) / 500 - 1, min(state.orbs, 10) / 10, min(state.potions, 10) / 10)
        out[:_N_SCALARS] = values
        out[_N_SCALARS : _N_SCALARS + _N_CELLS] = _cell_features(state.around)
        out[_N_SCALARS + _N_CELLS :] = _event_features(state.flags, state.visited)

    def metrics(self, progress: dict[str, Any], state: MeadowState) -> dict[str, float]:
        """Success means that the goal was reached; the milestones do not depend on it."""
        return {
            "success": float(state.has(self.goal)),
            "left_house": float(state.has("left_house")),
            "first_victory": float(state.has("first_victory")),
            "town": float(state.has("town")),
            "badge": float(state.has("badge")),
            "maps_seen": state.visited.bit_count(),
            "cells_seen": progress["cells_seen"],
            "battles_won": state.won,
            "level": max(state.levels),
            "caught": state.caught,
            "blackouts": state.blackouts,
        }


class MeadowWithStart(Meadow):
    """The same with the START button, whose menu saves to flash memory; more ways to get lost, for tests and soaks."""

    actions = (*Meadow.actions, Action("start", ("start",), tap=True))
    metric_names = (*Meadow.metric_names, "saves")
    # What is open is closed; then the menu's third entry, YES, past the text, and out again.
    save_script = (
        *("b", "b", "b", "b", "start", "down", "down", "a", "wait"),
        *("a", "wait", "wait", "wait", "a", "b"),
    )

    def begin(self, state: MeadowState) -> dict[str, Any]:
        """Return a record without saves."""
        return {**super().begin(state), "saves": 0}

    def reward(self, progress: dict[str, Any], before: MeadowState, after: MeadowState) -> dict[str, float]:
        """Count the saves too; they are worth nothing."""
        if _saves(before, after):
            progress["saves"] += 1
        return super().reward(progress, before, after)

    def metrics(self, progress: dict[str, Any], state: MeadowState) -> dict[str, float]:
        """Add how often flash memory was written in this episode."""
        return {**super().metrics(progress, state), "saves": progress["saves"]}


def _saves(before: MeadowState, after: MeadowState) -> bool:
    """Whether YES was chosen under SAVE in this step: NO goes back to the START menu, which is submenu 1."""
    asked = before.mode == _MENU_MODE and before.submenu == _YES_NO
    return asked and after.mode == _MENU_MODE and after.submenu == 0 and bool(after.flags & SAVED)


_ONE_OF_FOUR = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
_NO_BATTLE = (0.0,) * 26
_N_CELLS = 25 * len(_CELL_MASKS)
_N_SCALARS = len(Meadow.feature_names) - _N_CELLS - len(FLAGS) - len(MAPS)


def game_seed(seed: int) -> int:
    """Return the 32-bit seed of the game; the upper half of all games is kept for held-out env seeds.

    The game mixes its seed, so neighbours give unlike games.

    >>> hex(game_seed(5)), hex(game_seed(FIRST_HELD_OUT_SEED + 5))
    ('0x5', '0x80000005')
    """
    return seed & 0x7FFFFFFF | (0x80000000 if seed >= FIRST_HELD_OUT_SEED else 0)


def _boot(console: Console) -> None:
    for _ in range(60):
        console.advance(0, 10, draw=False)
        if bytes(console.read(BLOCK, 4)) == MAGIC and console.read(MODE, 1)[0] != 0:
            return
    raise RunError("meadow: the game did not reach its title screen within 600 frames")


def _visit(progress: dict[str, Any], state: MeadowState) -> bool:
    """Note the cell the hero stands on and return whether it is new."""
    rows = progress["cells"][state.map]
    if rows[state.y] >> state.x & 1:
        return False
    rows[state.y] |= 1 << state.x
    progress["cells_seen"] += 1
    return True


def _party_parts(parts: dict[str, float], before: MeadowState, after: MeadowState) -> None:
    if after.party_size == before.party_size:
        levels = sum(after.levels) - sum(before.levels)
        if levels > 0:
            parts["level"] = levels
        if not (before.in_battle or after.in_battle):
            low, now = before.party_hp, after.party_hp
            if low < LOW_HP and now > low:
                parts["heal"] = now - low
    elif before.party_size:  # the first monster is a gift
        species = (after.species_caught & ~before.species_caught).bit_count()
        if species:
            parts["caught"] = species


@lru_cache(maxsize=4096)  # there are fewer cells than that in all maps together
def _cell_features(around: bytes) -> Features:
    return np.array([bit for mask in _CELL_MASKS.values() for bit in around.translate(mask)], np.float32)


@lru_cache(maxsize=256)
def _event_features(flags: int, visited: int) -> Features:
    events = [flags >> bit & 1 for bit in FLAGS.values()]
    return np.array(events + [visited >> place & 1 for place in range(len(MAPS))], np.float32)


def _new_sides(state: MeadowState, cells: list[list[int]]) -> list[bool]:
    """Return for the four sides whether a cell lies there that can be walked on and was not visited."""
    rows, around, x, y = cells[state.map], state.around, state.x, state.y
    return [around[at] in _ENTERED and not rows[y + dy] >> (x + dx) & 1 for at, dx, dy in _SIDES]


def _party_features(state: MeadowState, own: Monster) -> tuple[float, ...]:
    if not state.party_size:
        return (0.0,) * 6
    return (
        own.hp / max(1, own.max_hp),
        own.level / 15,
        own.exp / max(1, own.exp_next),
        float(own.status != 0),
        state.party_size / 6,
        state.party_hp,
    )


def _battle_features(state: MeadowState, own: Monster) -> list[float]:
    foe, kind = state.foe, state.battle_kind
    return [
        *(1.0, float(kind == 1), float(kind == 2), float(kind == 3)),
        *_ONE_OF_FOUR[state.phase & 3],
        *_ONE_OF_FOUR[state.battle_cursor & 3],
        foe.hp / max(1, foe.max_hp),
        foe.level / 15,
        (own.level - foe.level) / 5,
        _ADVANTAGE[_ELEMENT_FACTORS[own.element][foe.element]],
        _ADVANTAGE[_ELEMENT_FACTORS[foe.element][own.element]],
        state.foes_left / 2,
        *(state.own_attack / 4, state.own_defense / 4, state.foe_attack / 4, state.foe_defense / 4),
        *_move_strengths(own.moves, foe.element),
    ]


def _move_strengths(moves: bytes, element: int) -> list[float]:
    """Return for the four moves what a hit on ``element`` is worth; 0 for none, used up or without damage."""
    return [
        _MOVE_POWER[move] * _ELEMENT_FACTORS[_MOVE_ELEMENT[move]][element] / 240 if uses else 0.0
        for move, uses in zip(moves[::2], moves[1::2], strict=True)
    ]
