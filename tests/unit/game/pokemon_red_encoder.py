"""Writes RAM images of Pokémon Red from the table in docs/pokemon-red.md; shares no code with the reader."""

from __future__ import annotations

from typing import Any

POISON = 0xEE  # every byte no field covers


def encode(values: dict[str, Any]) -> bytes:
    """Return work RAM (C000-DFFF) that holds ``values``."""
    ram = dict.fromkeys(range(0xC000, 0xE000), POISON)
    for address, name in {
        0xD35E: "map_id",
        0xD361: "y",
        0xD362: "x",
        0xD365: "last_map",
        0xD368: "map_height",
        0xD369: "map_width",
        0xD52A: "direction",
        0xCFC5: "walking",
        0xD700: "transport",
        0xD356: "badges",
        0xD057: "battle",
        0xD05A: "battle_kind",
        0xD031: "trainer_class",
        0xD125: "text_box",
    }.items():
        ram[address] = values[name]
    ram[0xCFC4] = 0xFE | values["text_open"]  # only bit 0 counts
    ram[0xD730] = 0x40 | values["input_ignored"] << 5 | values["scripted"] << 7
    ram[0xD732] = 0x06 | values["in_game"]
    place(ram, 0xD347, digits(values["money"], 3))
    place(ram, 0xD5A4, digits(values["coins"], 2))
    place(ram, 0xD2F7, flags(values["owned"], 19))
    place(ram, 0xD30A, flags(values["seen"], 19))
    place(ram, 0xD747, flags(values["events"], 320))
    ram[0xD31D] = len(values["items"])
    place(ram, 0xD31E, bytes(part for pair in values["items"] for part in pair) + b"\xff")
    ram[0xD163] = len(values["party"])
    place(ram, 0xD164, bytes(mon[0] for mon in values["party"]) + b"\xff")
    for number, mon in enumerate(values["party"]):
        place(ram, 0xD16B + 44 * number, party_record(mon))
    place(ram, 0xCFE5, battle_record(values["opponent"]))
    place(ram, 0xD014, battle_record(values["fighter"]))
    return bytes(ram[address] for address in range(0xC000, 0xE000))


def place(ram: dict[int, int], address: int, row: bytes) -> None:
    """Write a row of bytes."""
    for offset, value in enumerate(row):
        ram[address + offset] = value


def digits(number: int, length: int) -> bytes:
    """Binary-coded decimal, most significant digits first."""
    return bytes.fromhex(f"{number:0{2 * length}d}")


def flags(bits: int, length: int) -> bytes:
    """Flag n is bit n % 8 of byte n // 8."""
    row = bytearray(length)
    for number in range(8 * length):
        if bits >> number & 1:
            row[number // 8] |= 1 << number % 8
    return bytes(row)


def party_record(mon: tuple[Any, ...]) -> bytes:
    """The 44 bytes of a monster in the party."""
    species, level, hp, max_hp, status, moves = mon
    row = bytearray([POISON]) * 44
    row[0], row[33], row[4] = species, level, status
    row[1:3], row[34:36] = hp.to_bytes(2, "big"), max_hp.to_bytes(2, "big")
    row[8:12] = bytes(moves)
    return bytes(row)


def battle_record(mon: tuple[Any, ...]) -> bytes:
    """The 29 bytes of a monster in battle."""
    species, level, hp, max_hp, status, moves = mon
    row = bytearray([POISON]) * 29
    row[0], row[14], row[4] = species, level, status
    row[1:3], row[15:17] = hp.to_bytes(2, "big"), max_hp.to_bytes(2, "big")
    row[8:12] = bytes(moves)
    return bytes(row)


NOBODY = (0, 0, 0, 0, 0, (0, 0, 0, 0))
FIRST: dict[str, Any] = {
    "map_id": 0x26,
    "x": 3,
    "y": 6,
    "last_map": 0,
    "map_width": 4,
    "map_height": 4,
    "direction": 8,
    "walking": 0,
    "transport": 0,
    "party": (),
    "badges": 0,
    "money": 3000,
    "coins": 0,
    "owned": 0,
    "seen": 0,
    "items": (),
    "events": 0,
    "battle": 0,
    "battle_kind": 0,
    "trainer_class": 0,
    "opponent": NOBODY,
    "fighter": NOBODY,
    "text_box": 0,
    "text_open": False,
    "input_ignored": False,
    "scripted": True,
    "in_game": True,
}
SECOND: dict[str, Any] = {
    "map_id": 0x36,
    "x": 4,
    "y": 13,
    "last_map": 2,
    "map_width": 5,
    "map_height": 7,
    "direction": 1,
    "walking": 6,
    "transport": 2,
    "party": (
        (0xB0, 14, 37, 41, 0, (10, 45, 52, 0)),
        (0x24, 9, 0, 27, 0x08, (16, 28, 0, 0)),
        (0x7B, 255, 703, 999, 0x47, (33, 81, 106, 40)),
    ),
    "badges": 0b10000001,
    "money": 123456,
    "coins": 9876,
    "owned": 1 << 150 | 0b1001001,
    "seen": 1 << 150 | 0b1111111,
    "items": ((4, 12), (20, 3), (0x46, 1)),
    "events": 1 << 2559 | 1 << 0x22 | 1 << 0x25 | 1 << 0x77,
    "battle": 2,
    "battle_kind": 1,
    "trainer_class": 0x22,
    "opponent": (0x22, 12, 300, 310, 0x10, (33, 111, 117, 20)),
    "fighter": (0xB0, 14, 29, 41, 0x02, (10, 45, 52, 1)),
    "text_box": 0x14,
    "text_open": True,
    "input_ignored": True,
    "scripted": False,
    "in_game": False,
}
