"""Writes RAM images as Pokemon Emerald would hold them; knows nothing of the reader it tests.

Written from the struct and symbol listings of pret/pokeemerald (global.h, pokemon.h, global.fieldmap.h, main.h,
pokeemerald.sym). Every number is repeated here on purpose: the encoder shares no table with the reader.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from parcade.console.base import AddressError

Put = Callable[[int, bytes], None]

EWRAM, IWRAM, ROM = 0x02000000, 0x03000000, 0x08000000
ORDERS = (
    *("GAEM", "GAME", "GEAM", "GEMA", "GMAE", "GMEA", "AGEM", "AGME", "AEGM", "AEMG", "AMGE", "AMEG"),
    *("EGAM", "EGMA", "EAGM", "EAMG", "EMGA", "EMAG", "MGAE", "MGEA", "MAGE", "MAEG", "MEGA", "MEAG"),
)
NOISE = bytes(i * 7 % 251 for i in range(0x8000))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def text(words: str, length: int) -> bytes:
    """Return a name in the game's letters, closed and padded with 0xFF."""
    letters = bytes(
        0 if c == " " else 0xBB + ALPHABET.index(c) if c in ALPHABET else 0xD5 + ALPHABET.index(c.upper())
        for c in words
    )
    return letters.ljust(length, b"\xff")


@dataclass
class Mon:
    """A party member in plain words."""

    personality: int
    trainer_id: int
    species: int
    level: int
    hp: int
    max_hp: int
    nickname: str = "MON"
    item: int = 0
    experience: int = 0
    friendship: int = 70
    moves: tuple[int, ...] = (33, 45, 0, 0)
    pp: tuple[int, ...] = (35, 40, 0, 0)
    egg: bool = False
    status: int = 0
    stats: tuple[int, ...] = (10, 11, 12, 13, 14)

    def encode(self) -> bytes:
        """Return the 100 bytes of struct Pokemon."""
        parts = {
            "G": struct.pack("<HHIBBH", self.species, self.item, self.experience, 0, self.friendship, 0),
            "A": struct.pack("<HHHHBBBB", *self.moves, *self.pp),
            "E": bytes(range(12)),
            "M": struct.pack("<BBHII", 0, 16, 0x1234, (1 << 30 if self.egg else 0) | 0x155, 0x80000000),
        }
        plain = b"".join(parts[letter] for letter in ORDERS[self.personality % 24])
        checksum = 0
        for low in range(0, 48, 2):
            checksum = (checksum + plain[low] + 256 * plain[low + 1]) % 65536
        key = struct.pack("<I", self.personality ^ self.trainer_id)
        secret = bytes(byte ^ key[i % 4] for i, byte in enumerate(plain))
        box = struct.pack("<II", self.personality, self.trainer_id) + text(self.nickname, 10) + bytes([2, 2])
        box += text("OWNER", 7) + bytes([0]) + struct.pack("<HH", checksum, 0) + secret
        return box + struct.pack("<IBBHHHHHHH", self.status, self.level, 255, self.hp, self.max_hp, *self.stats)


@dataclass
class Foe:
    """A row of gBattleMons."""

    species: int
    level: int
    hp: int
    max_hp: int
    status: int = 0
    moves: tuple[int, ...] = (1, 2, 3, 4)

    def encode(self) -> bytes:
        """Return the 0x58 bytes of struct BattlePokemon."""
        row = bytearray(0x58)
        struct.pack_into("<H", row, 0x00, self.species)
        struct.pack_into("<HHHH", row, 0x0C, *self.moves)
        struct.pack_into("<HB", row, 0x28, self.hp, self.level)
        struct.pack_into("<H", row, 0x2C, self.max_hp)
        struct.pack_into("<I", row, 0x4C, self.status)
        return bytes(row)


@dataclass
class Scene:
    """One moment of the game in plain words; ``images`` turns it into memory."""

    offset: int  # how far the save blocks have moved, a multiple of 4 up to 124
    key: int
    group: int
    number: int
    x: int
    y: int
    width: int
    height: int
    name: str = "MAY"
    female: bool = True
    trainer_id: int = 0x12345678
    time: tuple[int, int, int] = (0, 0, 0)
    money: int = 3000
    coins: int = 0
    bag: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    flags: tuple[int, ...] = ()
    variables: dict[int, int] = field(default_factory=dict)
    caught: tuple[int, ...] = ()
    seen: tuple[int, ...] = ()
    party: list[Mon] = field(default_factory=list)
    layout_id: int = 10
    facing: int = 1
    blocks: dict[tuple[int, int], int] = field(default_factory=dict)  # map position -> block; others are 0x3001
    people: list[tuple[int, int]] = field(default_factory=list)
    saved_place: tuple[int, int] | None = None  # where save block 1 has the player, if elsewhere
    player_shown: bool = True  # whether the player is among the objects
    callback2: int = 0x08085E5D
    vblank: int = 0x08086001
    message_box: int = 0
    text_box_tile: int | None = 0  # at the text box's corner on background 0; None: no windows are set up
    locked: int = 0
    script: int = 2
    start_menu: int = 0xFF
    battle: tuple[Foe, Foe] | None = None
    battle_type: int = 0
    opponent: int = 0
    outcome: int = 0
    controller: int = 0x08057589
    cursors: tuple[int, int] = (0, 0)

    def images(self) -> tuple[bytes, bytes]:
        """Return all of EWRAM and IWRAM; what is not part of the scene holds a pattern, not zeros."""
        ewram, iwram = bytearray(NOISE * 8), bytearray(NOISE)
        one, two = 0x02025A00 + self.offset, 0x02024A54 + self.offset

        def put(address: int, data: bytes) -> None:
            image, base = (ewram, EWRAM) if address < IWRAM else (iwram, IWRAM)
            image[address - base : address - base + len(data)] = data

        put(0x03005D8C, struct.pack("<II", one, two))
        self._save_1(put, one)
        self._save_2(put, two)
        put(0x020244E9, bytes([len(self.party)]))
        for slot, mon in enumerate(self.party):
            put(0x020244EC + 100 * slot, mon.encode())
        self._field(put)
        self._battle(put)
        return bytes(ewram), bytes(iwram)

    def _save_1(self, put: Put, one: int) -> None:
        put(one, struct.pack("<hhbbb", *(self.saved_place or (self.x, self.y)), self.group, self.number, -1))
        put(one + 0x490, struct.pack("<IH", self.money ^ self.key, self.coins ^ self.key & 0xFFFF))
        pockets = {"items": (0x560, 30), "key_items": (0x5D8, 30), "balls": (0x650, 16), "tms": (0x690, 64)}
        pockets["berries"] = (0x790, 46)
        for pocket, (start, slots) in pockets.items():
            rows = self.bag.get(pocket, [])
            for slot in range(slots):
                item, quantity = rows[slot] if slot < len(rows) else (0, 0)
                put(one + start + 4 * slot, struct.pack("<HH", item, quantity ^ self.key & 0xFFFF))
        flags = bytearray(300)
        for number in self.flags:
            flags[number // 8] |= 1 << number % 8
        put(one + 0x1270, bytes(flags))
        put(one + 0x139C, bytes(512))
        for number, value in self.variables.items():
            put(one + 0x139C + 2 * (number - 0x4000), struct.pack("<H", value))

    def _save_2(self, put: Put, two: int) -> None:
        put(two, text(self.name, 8) + bytes([self.female, 0]) + struct.pack("<I", self.trainer_id))
        put(two + 0x0E, struct.pack("<HBB", *self.time))
        for start, numbers in ((0x28, self.caught), (0x5C, self.seen)):
            dex = bytearray(52)
            for number in numbers:
                dex[(number - 1) // 8] |= 1 << (number - 1) % 8
            put(two + start, bytes(dex))
        put(two + 0xAC, struct.pack("<I", self.key))

    def _field(self, put: Put) -> None:
        columns, rows = self.width + 15, self.height + 14
        put(0x03005DC0, struct.pack("<iiI", columns, rows, 0x02032318))
        for row in range(rows):
            for column in range(columns):
                block = self.blocks.get((column - 7, row - 7), 0x3001)
                put(0x02032318 + 2 * (row * columns + column), struct.pack("<H", block))
        put(0x02037318, struct.pack("<IIIIHH", LAYOUT, 0, 0, 0, 0, self.layout_id))
        put(0x02037350, bytes(16 * 0x24))
        player = [(self.x, self.y, 0x10001, self.facing)] if self.player_shown else []
        everybody = [*player, *((x, y, 1, 1) for x, y in self.people)]
        for slot, (x, y, bits, facing) in enumerate(everybody):
            row = bytearray(0x24)
            struct.pack_into("<I", row, 0x00, bits)
            struct.pack_into("<hh", row, 0x10, x + 7, y + 7)
            row[0x18] = facing | facing << 4
            put(0x02037350 + 0x24 * slot, bytes(row))
        put(0x020375BC, bytes([self.message_box]))
        self._text_box(put)
        put(0x03000E38, bytes([self.script]))
        put(0x03000F2C, bytes([self.locked]))
        put(0x0203CD8C, bytes([self.start_menu]))
        put(0x030022C0, struct.pack("<IIIII", 0x08085E05, self.callback2, 0, self.vblank, 0))

    def _text_box(self, put: Put) -> None:
        tilemap = 0x02001C30
        put(0x03002F70, struct.pack("<I", 0 if self.text_box_tile is None else tilemap))
        if self.text_box_tile is not None:
            put(tilemap, bytes(0x800))
            put(tilemap + 15 * 64 + 4, struct.pack("<H", 0xF000 | self.text_box_tile))

    def _battle(self, put: Put) -> None:
        put(0x030026F9, bytes([2 if self.battle else 0]))
        if self.battle:
            put(0x02024084, self.battle[0].encode() + self.battle[1].encode())
            put(0x02022FEC, struct.pack("<I", self.battle_type))
            put(0x02038BCA, struct.pack("<H", self.opponent))
            put(0x0202433A, bytes([self.outcome]))
            put(0x03005D60, struct.pack("<I", self.controller))
            put(0x020244AC, bytes([self.cursors[0], 0, 0, 0, self.cursors[1], 0, 0, 0]))


LAYOUT = ROM + 0x200
_TILESETS, _ATTRIBUTES = (ROM + 0x220, ROM + 0x240), (ROM + 0x400, ROM + 0x800)


def cartridge(
    parked: bytes, behaviours: dict[int, int], title: bytes = b"POKEMON EMER", code: bytes = b"BPEE"
) -> bytes:
    """Return a parked ROM with the game's title, and with a map layout and two tilesets for the reader to find."""
    rom = bytearray(parked.ljust(0x1000, b"\0"))
    rom[0xA0:0xB0] = title.ljust(12, b"\0") + code
    rom[0xBD] = -(sum(rom[0xA0:0xBD]) + 0x19) & 0xFF
    struct.pack_into("<iiIIII", rom, LAYOUT - ROM, 20, 20, 0, 0, *_TILESETS)
    for tileset, attributes in zip(_TILESETS, _ATTRIBUTES, strict=True):
        struct.pack_into("<BBHIIIII", rom, tileset - ROM, 0, 0, 0, 0, 0, 0, attributes, 0)
    for metatile, behaviour in behaviours.items():
        struct.pack_into("<H", rom, _ATTRIBUTES[0] - ROM + 2 * metatile, 0x1000 | behaviour)
    return bytes(rom)


class PlainMemory:
    """RAM images and a ROM as plain bytes, read as a console is."""

    def __init__(self, ewram: bytes, iwram: bytes, rom: bytes) -> None:
        self.regions = ((EWRAM, ewram), (IWRAM, iwram), (ROM, rom))

    def read(self, address: int, length: int) -> bytes:
        """Return the bytes; outside the three regions raise AddressError as a console does."""
        for base, data in self.regions:
            if base <= address and address + length <= base + len(data):
                return data[address - base : address - base + length]
        raise AddressError(hex(address))
