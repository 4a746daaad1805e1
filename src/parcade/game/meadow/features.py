"""What a player of Meadow sees, as numbers: mode, place, party, battle, menus, bag, the cells around and events."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from parcade.game.base import Features
from parcade.game.meadow.state import FLAGS, MAPS, MODES, MeadowState, Monster

_ELEMENT_FACTORS = (  # attacker in rows: plain, leaf, ember, tide, stone; 1 half, 2 normal, 4 double
    *((2, 2, 2, 2, 2), (2, 1, 1, 4, 4), (2, 4, 1, 1, 1), (2, 1, 4, 1, 4), (2, 2, 4, 2, 1)),
)
_ADVANTAGE = {1: -1.0, 2: 0.0, 4: 1.0}
_MOVE_POWER = (0, 35, 40, 40, 40, 40, 40, 0, 0, 60, 60, 60, 60, 0, 30)
_MOVE_ELEMENT = (0, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0)
_SIDES = ((17, 0, 1), (7, 0, -1), (11, -1, 0), (13, 1, 0))  # index in the 5x5 cells and step, in the order of facing
_ENTERED = (0, 2, 3)  # kinds of cells the hero can walk on: free, tall grass, door


def _mask_of(*kinds: int) -> bytes:
    return bytes(kind in kinds for kind in range(256))


_CELL_MASKS = {"solid": _mask_of(1, 4, 5, 6), "grass": _mask_of(2), "door": _mask_of(3), "talk": _mask_of(5, 6)}

FEATURE_NAMES = (
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
_ONE_OF_FOUR = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
_NO_BATTLE = (0.0,) * 26
_N_CELLS = 25 * len(_CELL_MASKS)
_N_SCALARS = len(FEATURE_NAMES) - _N_CELLS - len(FLAGS) - len(MAPS)


def write_meadow_features(state: MeadowState, cells: list[list[int]], out: Features) -> None:
    """Write the numbers of FEATURE_NAMES; ``cells`` are those visited so far."""
    values: list[float] = [0.0] * 20
    if 2 <= state.mode <= 9:
        values[state.mode - 2] = 1.0
    values[8 + state.map] = 1.0
    values += (2 * state.x / max(1, state.map_w - 1) - 1, 2 * state.y / max(1, state.map_h - 1) - 1)
    values += _ONE_OF_FOUR[state.facing & 3]
    values.append(state.moving / 8)
    values += _new_sides(state, cells)
    own = state.monster(state.slot if state.in_battle else 0)
    values += _party_features(state, own)
    values += _battle_features(state, own) if state.in_battle else _NO_BATTLE
    submenu = state.submenu
    values += (submenu == 2, submenu == 5, submenu == 6, state.cursor / 5)
    values += (min(state.money, 1000) / 500 - 1, min(state.orbs, 10) / 10, min(state.potions, 10) / 10)
    out[:_N_SCALARS] = values
    out[_N_SCALARS : _N_SCALARS + _N_CELLS] = _cell_features(state.around)
    out[_N_SCALARS + _N_CELLS :] = _event_features(state.flags, state.visited)


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
