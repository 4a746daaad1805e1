"""Named, typed, bounds-checked fields of a console's memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from parcade.console.base import Memory

_FORMATS = {"u8": "<B", "i8": "<b", "u16": "<H", "i16": "<h", "u32": "<I", "i32": "<i", "u16be": ">H", "u24be": ""}
_SIZES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u16be": 2, "u24be": 3}


@dataclass(frozen=True, slots=True)
class Field:
    """One value in memory.

    ``kind`` is one of u8 i8 u16 i16 u32 i32 (little endian), u16be u24be (big endian), bcd (big-endian decimal
    digits, two a byte), bit (bit ``bit`` of a byte), bytes (``count`` raw bytes). ``count`` > 1 makes an array
    (a tuple). ``via`` is the address of a u32 pointer that ``address`` is an offset from.
    """

    address: int
    kind: str = "u8"
    count: int = 1
    bit: int = 0
    via: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in (*_SIZES, "bcd", "bit", "bytes"):
            raise ValueError(f"field kind {self.kind!r} is unknown; use one of {', '.join(_SIZES)}, bcd, bit, bytes")
        if self.count < 1 or not 0 <= self.bit < 8:
            raise ValueError(f"field at {self.address:#x}: count {self.count} or bit {self.bit} is out of range")

    @property
    def size(self) -> int:
        """Bytes this field covers."""
        return _SIZES.get(self.kind, 1) * self.count

    def read(self, memory: Memory) -> int | tuple[int, ...] | bytes:
        """Return the value; an address outside the console raises AddressError."""
        base = 0 if self.via is None else struct.unpack("<I", memory.read(self.via, 4))[0]
        return self.decode(bytes(memory.read(base + self.address, self.size)))

    def decode(self, raw: bytes) -> int | tuple[int, ...] | bytes:
        """Return the value of this field's own bytes.

        >>> Field(0, "bcd", count=3).decode(bytes([0x01, 0x23, 0x45]))
        12345
        """
        if self.kind == "bytes":
            return raw
        if self.kind == "bcd":
            return decode_bcd(raw)
        if self.kind == "bit":
            return raw[0] >> self.bit & 1
        size = _SIZES[self.kind]
        values = tuple(_number(raw[i : i + size], self.kind) for i in range(0, len(raw), size))
        return values if self.count > 1 else values[0]


class MemoryMap:
    """A set of named fields.

    >>> MemoryMap({"coins": Field(0xC112, "u16")}).names
    ('coins',)
    """

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.fields = dict(fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names in order."""
        return tuple(self.fields)

    def read(self, memory: Memory) -> dict[str, int | tuple[int, ...] | bytes]:
        """Return every field's value."""
        return {name: field.read(memory) for name, field in self.fields.items()}


def decode_bcd(raw: bytes) -> int:
    """Return the number that big-endian binary-coded decimal bytes spell; a digit above 9 counts as 0."""
    total = 0
    for byte in raw:
        high, low = byte >> 4, byte & 15
        total = total * 100 + (high if high < 10 else 0) * 10 + (low if low < 10 else 0)
    return total


def count_bits(raw: bytes | memoryview) -> int:
    """Return how many bits are set."""
    return int.from_bytes(raw, "little").bit_count()


def _number(raw: bytes, kind: str) -> int:
    if kind == "u24be":
        return int.from_bytes(raw, "big")
    value: int = struct.unpack(_FORMATS[kind], raw)[0]
    return value
