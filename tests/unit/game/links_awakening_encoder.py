"""Writes RAM images of Link's Awakening from the table in docs/links-awakening.md; shares no code with the reader."""

from __future__ import annotations

from typing import Any

POISON = 0xEE  # every byte no field covers


def bcd(number: int) -> int:
    """Two decimal digits in one byte."""
    return int(str(number), 16)


def encode(values: dict[str, Any], color: bool) -> tuple[bytes, bytes]:
    """Return work RAM (C000-DFFF) and high RAM (FF80-FFFE) that hold ``values``."""
    ram = dict.fromkeys((*range(0xC000, 0xE000), *range(0xFF80, 0xFFFF)), POISON)
    for address, name in {
        0xFFF6: "room",
        0xFFF7: "map_id",
        0xFF98: "x",
        0xFF99: "y",
        0xFFA2: "z",
        0xFF9E: "direction",
        0xFF9C: "physics",
        0xFFA1: "motion_blocked",
        0xC11C: "motion",
        0xC15C: "carrying",
        0xC124: "room_transition",
        0xC16B: "warp_step",
        0xDB95: "gameplay",
        0xDB96: "gameplay_subtype",
        0xDB00: "item_b",
        0xDB01: "item_a",
        0xDB0C: "flippers",
        0xDB0D: "medicine",
        0xDB0E: "trade_item",
        0xDB15: "golden_leaves",
        0xDB43: "bracelet",
        0xDB44: "shield",
        0xDB48: "tarin",
        0xDB49: "songs",
        0xDB4B: "toadstool",
        0xDB4E: "sword",
        0xDB5A: "health",
        0xDB5B: "max_hearts",
        0xDB5C: "heart_pieces",
    }.items():
        ram[address] = values[name]
    for address, name in {0xDB0F: "shells", 0xDB45: "arrows", 0xDB4C: "powder", 0xDB4D: "bombs"}.items():
        ram[address] = bcd(values[name])
    ram[0xDB5D], ram[0xDB5E] = bcd(values["rupees"] // 100), bcd(values["rupees"] % 100)
    ram[0xDB58], ram[0xDB57] = bcd(values["deaths"] // 100), bcd(values["deaths"] % 100)
    ram[0xDBA5] = int(values["category"] != 0)
    ram[0xFFF9] = 2 if values["side_view"] else 0
    ram[0xC112], ram[0xC173] = divmod(values["dialogue_index"], 256)
    ram[0xC19F] = 0x80 | values["dialogue"]  # the top bit says where the box stands
    ram[0xFFFE] = int(color)
    place(ram, 0xDB02, values["bag"])
    place(ram, 0xDB11, values["door_keys"])
    place(ram, 0xDB16, tuple(values["dungeons"]))
    place(ram, 0xDBCC, values["here"])
    if color:
        place(ram, 0xDDDA, values["color_dungeon"])
    for number in range(8):  # bit 0 is the miniboss, bit 1 the instrument
        ram[0xDB65 + number] = 1 | (values["instruments"] >> number & 1) << 1
    encode_entities(ram, values["entities"])
    return (
        bytes(ram[address] for address in range(0xC000, 0xE000)),
        bytes(ram[address] for address in range(0xFF80, 0xFFFF)),
    )


def place(ram: dict[int, int], address: int, row: tuple[int, ...]) -> None:
    """Write a row of bytes."""
    for offset, value in enumerate(row):
        ram[address + offset] = value


def encode_entities(ram: dict[int, int], entities: tuple[Any, ...]) -> None:
    """Write sixteen slots; a slot not named is disabled."""
    place(ram, 0xC280, (0,) * 16)
    for slot, kind, x, y, z, status, health, direction, hostile in entities:
        ram[0xC200 + slot], ram[0xC220 + slot] = x % 256, 0xFF if x < 0 else 0
        ram[0xC210 + slot], ram[0xC230 + slot] = y % 256, 0xFF if y < 0 else 0
        ram[0xC280 + slot] = status
        ram[0xC310 + slot] = z
        ram[0xC340 + slot] = 0x12 if hostile else 0x92
        ram[0xC360 + slot] = health
        ram[0xC380 + slot] = direction
        ram[0xC3A0 + slot] = kind


FIRST: dict[str, Any] = {
    "category": 0,
    "map_id": 0x10,
    "room": 0xA2,
    "x": 88,
    "y": 62,
    "z": 0,
    "side_view": False,
    "direction": 3,
    "motion": 0,
    "motion_blocked": 0,
    "carrying": 0,
    "physics": 0,
    "gameplay": 0x0B,
    "gameplay_subtype": 7,
    "dialogue": 0,
    "dialogue_index": 0x000,
    "room_transition": 0,
    "warp_step": 4,
    "item_b": 0,
    "item_a": 4,
    "bag": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "sword": 0,
    "shield": 1,
    "bracelet": 0,
    "flippers": 0,
    "medicine": 1,
    "trade_item": 0,
    "toadstool": 0,
    "door_keys": (0, 0, 0, 0),
    "golden_leaves": 0,
    "dungeons": bytes(45),
    "color_dungeon": (0, 0, 0, 0, 0),
    "songs": 0,
    "here": (0, 0, 0, 0, 0),
    "shells": 0,
    "instruments": 0,
    "health": 24,
    "max_hearts": 3,
    "heart_pieces": 0,
    "rupees": 0,
    "bombs": 0,
    "arrows": 0,
    "powder": 0,
    "tarin": 0,
    "deaths": 0,
    "entities": ((3, 0x3E, 40, 96, 0, 5, 0, 2, False),),
}
SECOND: dict[str, Any] = {
    "category": 2,
    "map_id": 0x07,
    "room": 0x1D,
    "x": 13,
    "y": 127,
    "z": 9,
    "side_view": True,
    "direction": 1,
    "motion": 6,
    "motion_blocked": 2,
    "carrying": 1,
    "physics": 3,
    "gameplay": 0x0C,
    "gameplay_subtype": 8,
    "dialogue": 13,
    "dialogue_index": 0x21A,
    "room_transition": 5,
    "warp_step": 2,
    "item_b": 1,
    "item_a": 13,
    "bag": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "sword": 2,
    "shield": 2,
    "bracelet": 2,
    "flippers": 1,
    "medicine": 0,
    "trade_item": 14,
    "toadstool": 1,
    "door_keys": (1, 0, 1, 1),
    "golden_leaves": 6,
    "dungeons": bytes(part for n in range(1, 10) for part in (n % 2, 1, n % 3 % 2, 1 - n % 2, n)),
    "color_dungeon": (1, 0, 1, 1, 3),
    "songs": 5,
    "here": (1, 0, 1, 1, 7),
    "shells": 19,
    "instruments": 0b10110101,
    "health": 101,
    "max_hearts": 14,
    "heart_pieces": 3,
    "rupees": 987,
    "bombs": 59,
    "arrows": 60,
    "powder": 38,
    "tarin": 2,
    "deaths": 412,
    "entities": (
        (0, 0x0B, 120, 48, 4, 5, 3, 0, True),
        (7, 0x1B, -6, 130, 0, 6, 1, 3, True),
        (15, 0x2D, 80, -2, 12, 4, 0, 1, False),
    ),
}
