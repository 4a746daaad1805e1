"""Meadow's state block; the memory table is in roms/meadow/README.md."""

from __future__ import annotations

import struct
from typing import NamedTuple

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
HEAD = struct.Struct("<4s8B4I4HI4B2H4B2B2x2I192x6B2x32xB4b19xB25s6xH4B")
_MONSTER = struct.Struct("<2B4H5Bx8s8x")
_PARTY_HP = struct.Struct("<" + "2x2H26x" * 6)


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
