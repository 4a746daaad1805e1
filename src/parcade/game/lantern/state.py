"""Lantern's state block; the memory table is in roms/lantern/README.md."""

from __future__ import annotations

from typing import Any

BLOCK, BLOCK_SIZE = 0xC100, 256
MAGIC = b"LN"
RESTART = BLOCK + 40
PLAYING, GAME_OVER = 2, 5
KEY, CHEST, LANTERN = 1, 2, 4  # object kinds; 3 is an opened chest
DOOR_PLACES = ((72, 16), (72, 128), (0, 72), (144, 72))  # where the hero stands in the doorways of the four sides
SOLID = (1, 3, 4)  # cell kinds that stop the hero: wall, locked door, chest


def _byte(at: int) -> Any:
    return property(lambda state: state.block[at])


def _word(at: int) -> Any:
    return property(lambda state: state.block[at] | state.block[at + 1] << 8)


class LanternState:
    """What Lantern's state block means after a step; a field is decoded when it is asked for, since few are."""

    __slots__ = ("block",)

    def __init__(self, block: bytes) -> None:
        self.block = block  # the whole 256 bytes; doors, foes, objects and cells are read from it directly

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LanternState) and self.block == other.block

    def __hash__(self) -> int:
        return hash(self.block)

    mode = _byte(2)
    floor = _byte(3)
    seed = _word(4)
    rng = _word(6)
    frame = _word(8)
    x = _byte(10)
    y = _byte(11)
    facing = _byte(12)
    hearts = _byte(13)
    max_hearts = _byte(14)
    sword = _byte(15)
    invulnerable = _byte(16)
    keys = _byte(17)
    coins = _word(18)
    kills = _word(20)
    room = _byte(22)
    grid_w = _byte(23)
    grid_h = _byte(24)
    rooms_seen = _byte(25)
    floors_cleared = _byte(26)
    rooms_seen_total = _word(27)
    keys_taken = _byte(29)
    doors_opened = _byte(30)
    chests_opened = _byte(31)
    start_room = _byte(32)
    key_room = _byte(33)
    lantern_room = _byte(34)
    hits_taken = _byte(35)
    version = _byte(36)
