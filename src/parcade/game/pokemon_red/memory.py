"""Where Pokémon Red and Blue (USA, Europe) keep their state, and the record read from it.

Addresses are those of the public disassembly pret/pokered (wram.asm as annotated with addresses), the same that Data
Crystal's RAM map gives. Numbers of more than one byte are big endian. Both games share one layout. The games are plain
Game Boy cartridges: work RAM has no banks.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from parcade.console.base import Memory
from parcade.game.memory_map import decode_bcd

PARTY_SIZE = 6
MON_BYTES = 44  # party_struct
BAG_SLOTS = 20
EVENT_BYTES = 320
DEX_BYTES = 19
NO_BATTLE, WILD, TRAINER, LOST = 0, 1, 2, 0xFF  # wIsInBattle

# species, HP, (level in a box), status, (types, catch rate), moves, (the rest), level, largest HP
_PARTY_RECORD = Struct(">BHxB3x4s21xBH")
_BATTLE_RECORD = Struct(">BHxB3x4s2xBH")
_HIGH = 0xCFC4  # the block from here to D125 covers text and battle
_PARTY = 0xD163
_MAIN = 0xD2F7
_LATE = 0xD700


class Mon(NamedTuple):
    """One monster; ``species`` is the game's internal number, ``status`` its bit field (0 is healthy)."""

    species: int
    level: int
    hp: int
    max_hp: int
    status: int
    moves: tuple[int, ...]


class RedState(NamedTuple):
    """Everything the title knows of one moment."""

    map_id: int
    x: int
    y: int
    last_map: int
    map_width: int  # in blocks of 2 by 2 steps
    map_height: int
    direction: int  # bits: 1 right, 2 left, 4 down, 8 up
    walking: int  # frames left of the step under way
    transport: int  # 0 on foot, 1 bicycle, 2 surfing
    party: tuple[Mon, ...]
    badges: int  # bit 0 is the Boulder Badge
    money: int
    coins: int
    owned: int  # bit n-1 is number n of the Pokédex
    seen: int
    items: tuple[tuple[int, int], ...]  # (item, quantity)
    events: int  # bit n is event flag n
    battle: int  # NO_BATTLE, WILD, TRAINER or LOST
    battle_kind: int  # 0 normal, 1 the old man's lesson, 2 Safari Zone
    trainer_class: int
    opponent: Mon  # of the last battle outside one
    fighter: Mon  # ours in battle
    text_box: int  # the last box shown
    text_open: bool
    input_ignored: bool
    scripted: bool  # the game walks the player or moves someone
    in_game: bool  # play time runs: a game is loaded

    @property
    def coordinate(self) -> str:
        """The tile the player stands on, as one key."""
        return f"{self.map_id},{self.x},{self.y}"

    @property
    def in_control(self) -> bool:
        """Whether the next direction pressed moves the player."""
        return self.in_game and not (self.battle or self.text_open or self.input_ignored or self.scripted)

    @property
    def level_sum(self) -> int:
        """Levels of the party together."""
        return sum(mon.level for mon in self.party)

    @property
    def hp_fraction(self) -> float:
        """HP of the party together as a part of what they could have; 0 without a party."""
        total = sum(mon.max_hp for mon in self.party)
        return sum(mon.hp for mon in self.party) / total if total else 0.0


def read_red_state(memory: Memory) -> RedState:
    """Return what memory means now, in six block reads."""
    high = bytes(memory.read(_HIGH, 0xD126 - _HIGH))
    party = memory.read(_PARTY, 8 + PARTY_SIZE * MON_BYTES)
    main = bytes(memory.read(_MAIN, 0xD36A - _MAIN))
    late = memory.read(_LATE, 0x47 + EVENT_BYTES)
    return RedState(
        map_id=main[0xD35E - _MAIN],
        x=main[0xD362 - _MAIN],
        y=main[0xD361 - _MAIN],
        last_map=main[0xD365 - _MAIN],
        map_width=main[0xD369 - _MAIN],
        map_height=main[0xD368 - _MAIN],
        direction=memory.read(0xD52A, 1)[0],
        walking=high[0xCFC5 - _HIGH],
        transport=late[0],
        party=decode_party(party),
        badges=main[0xD356 - _MAIN],
        money=decode_bcd(main[0xD347 - _MAIN : 0xD34A - _MAIN]),
        coins=decode_bcd(bytes(memory.read(0xD5A4, 2))),
        owned=int.from_bytes(main[:DEX_BYTES], "little"),
        seen=int.from_bytes(main[DEX_BYTES : 2 * DEX_BYTES], "little"),
        items=decode_items(main[0xD31D - _MAIN : 0xD347 - _MAIN]),
        events=int.from_bytes(late[0x47:], "little"),
        battle=high[0xD057 - _HIGH],
        battle_kind=high[0xD05A - _HIGH],
        trainer_class=high[0xD031 - _HIGH],
        opponent=decode_battle_mon(high, 0xCFE5 - _HIGH),
        fighter=decode_battle_mon(high, 0xD014 - _HIGH),
        text_box=high[0xD125 - _HIGH],
        text_open=bool(high[0xCFC4 - _HIGH] & 1),
        input_ignored=bool(late[0x30] & 0x20),
        scripted=bool(late[0x30] & 0x81),
        in_game=bool(late[0x32] & 1),
    )


def decode_party(raw: bytes | memoryview) -> tuple[Mon, ...]:
    """Return the party from its count, its list of species and its six records; a wild count is cut to six."""
    return tuple([decode_mon(raw, 8 + MON_BYTES * n) for n in range(min(raw[0], PARTY_SIZE))])


def decode_mon(raw: bytes | memoryview, at: int = 0) -> Mon:
    """Return one record of the party.

    >>> decode_mon(bytes([176, 0, 19, 0, 8]) + bytes(3) + bytes([10, 45, 0, 0]) + bytes(21) + bytes([6, 0, 21]))
    Mon(species=176, level=6, hp=19, max_hp=21, status=8, moves=(10, 45, 0, 0))
    """
    species, hp, status, moves, level, max_hp = _PARTY_RECORD.unpack_from(raw, at)
    return Mon(species, level, hp, max_hp, status, tuple(moves))


def decode_battle_mon(raw: bytes | memoryview, at: int = 0) -> Mon:
    """Return one of the two monsters of a battle, whose record is shorter than the party's."""
    species, hp, status, moves, level, max_hp = _BATTLE_RECORD.unpack_from(raw, at)
    return Mon(species, level, hp, max_hp, status, tuple(moves))


def decode_items(raw: bytes | memoryview) -> tuple[tuple[int, int], ...]:
    """Return the bag from its count and its pairs of item and quantity."""
    end = 1 + 2 * min(raw[0], BAG_SLOTS)
    return tuple(zip(raw[1:end:2], raw[2 : end + 1 : 2], strict=True))
