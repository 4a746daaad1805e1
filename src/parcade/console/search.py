"""Find an address by what its value does: candidate sets over a console's RAM, as arrays, without a console."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from parcade.console.base import Memory
from parcade.console.rom import Rom

Image = npt.NDArray[np.uint8]  # the bytes of all regions, one after another
Values = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]  # positions in an image
KINDS = {  # what can be searched for, in bytes; u16 and i16 are little endian, bcd has its high digits first
    **{"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u16be": 2},
    **{"bcd": 1, "bcdx2": 2, "bcdx3": 3},
}
NOT_DECIMAL = -1  # the value of bytes that are no decimal digits
_MBC2 = (0x05, 0x06)  # cartridge types with RAM inside the mapper, which the header's RAM size leaves out


@dataclass(frozen=True, slots=True)
class Region:
    """A range of RAM, half open."""

    name: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes in the region."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Candidates:
    """The places that are still possible, and the value each had when it was last looked at."""

    kind: str
    places: Places
    values: Values

    def __len__(self) -> int:
        return len(self.places)


_TESTS: dict[str, Callable[[Values, Values], npt.NDArray[np.bool_]]] = {  # of the value before and now
    "changed": np.not_equal,
    "unchanged": np.equal,
    "increased": np.less,
    "decreased": np.greater,
}
TESTS = (*_TESTS, "equals")


class Layout:
    """Where the bytes of an image come from.

    >>> layout = Layout([Region("work RAM", 0xC000, 0xC004)])
    >>> first = layout.begin(np.array([3, 0, 7, 7], np.uint8), "u8")
    >>> left = layout.narrow(first, np.array([4, 0, 7, 6], np.uint8), "increased")
    >>> [hex(address) for address in layout.addresses(left)]
    ['0xc000']
    """

    def __init__(self, regions: Sequence[Region]) -> None:
        self.regions = tuple(regions)
        self._addresses = np.concatenate([np.arange(r.start, r.end, dtype=np.int64) for r in self.regions])

    def image(self, memory: Memory) -> Image:
        """Return a copy of what the regions hold now."""
        return np.concatenate([np.frombuffer(bytes(memory.read(r.start, r.size)), np.uint8) for r in self.regions])

    def addresses(self, candidates: Candidates) -> Places:
        """Return the candidates' addresses, in the order of the regions."""
        return self._addresses[candidates.places]

    def begin(self, image: Image, kind: str) -> Candidates:
        """Return every place a value of ``kind`` can stand; none reaches from one region into the next.

        A place whose bytes are no decimal digits holds no bcd.
        """
        last = KINDS[kind] - 1
        places = np.arange(len(image) - last, dtype=np.int64)
        places = places[self._addresses[last:] - self._addresses[: len(places)] == last]
        return _decimal_only(Candidates(kind, places, values_at(image, places, kind)))

    def narrow(self, candidates: Candidates, image: Image, test: str, number: int | None = None) -> Candidates:
        """Return the candidates that pass ``test``, one of ``TESTS``, with their values in ``image``.

        ``equals`` needs ``number``; ``increased`` and ``decreased`` take it as the exact difference.
        """
        now = values_at(image, candidates.places, candidates.kind)
        passed = _passed(candidates.values, now, test, number)
        return _decimal_only(Candidates(candidates.kind, candidates.places[passed], now[passed]))

    def look(self, candidates: Candidates, image: Image) -> Candidates:
        """Return the same candidates with their values in ``image``: the next test compares with these."""
        return Candidates(candidates.kind, candidates.places, values_at(image, candidates.places, candidates.kind))


def _passed(before: Values, now: Values, test: str, number: int | None) -> npt.NDArray[np.bool_]:
    if test == "equals":
        if number is None:
            raise ValueError("equals needs a number")
        return np.equal(now, number)
    if number is None:
        return _TESTS[test](before, now)
    if test not in ("increased", "decreased"):
        raise ValueError(f"{test} takes no number, got {number}")
    difference: Values = now - before
    return np.equal(difference, number if test == "increased" else -number)


def values_at(image: Image, places: Places, kind: str) -> Values:
    """Return the values of ``kind`` that start at ``places``; bytes that are no digits of a bcd give NOT_DECIMAL."""
    parts = [image[places + at].astype(np.int64) for at in range(KINDS[kind])]
    if kind.startswith("bcd"):
        return _bcd_values(parts)
    values: Values = sum((part << 8 * at for at, part in enumerate(_low_first(parts, kind))), np.zeros_like(places))
    if kind.startswith("i"):
        values[values >= 1 << (8 * len(parts) - 1)] -= 1 << 8 * len(parts)
    return values


def _low_first(parts: list[Values], kind: str) -> list[Values]:
    return parts[::-1] if kind.endswith("be") else parts


def _bcd_values(parts: list[Values]) -> Values:
    values, decimal = np.zeros_like(parts[0]), np.ones(len(parts[0]), np.bool_)
    for part in parts:
        high, low = part >> 4, part & 15
        values = values * 100 + high * 10 + low
        decimal &= (high < 10) & (low < 10)
    return np.where(decimal, values, NOT_DECIMAL)


def _decimal_only(candidates: Candidates) -> Candidates:
    if not candidates.kind.startswith("bcd"):
        return candidates
    decimal = candidates.values != NOT_DECIMAL
    return Candidates(candidates.kind, candidates.places[decimal], candidates.values[decimal])


def bounds_of(kind: str) -> tuple[int, int]:
    """Return the smallest and the largest number of a kind.

    >>> bounds_of("i8"), bounds_of("u16be"), bounds_of("bcdx2")
    ((-128, 127), (0, 65535), (0, 9999))
    """
    n_bytes = KINDS[kind]
    if kind.startswith("bcd"):
        return 0, 100**n_bytes - 1
    size = 1 << 8 * n_bytes
    return (-size // 2, size // 2 - 1) if kind.startswith("i") else (0, size - 1)


def ram_regions(rom: Rom) -> tuple[Region, ...]:
    """Return the RAM a game on this cartridge can keep values in."""
    if rom.system == "gba":
        return Region("EWRAM", 0x02000000, 0x02040000), Region("IWRAM", 0x03000000, 0x03008000)
    work, high = Region("work RAM", 0xC000, 0xE000), Region("high RAM", 0xFF80, 0xFFFF)
    if rom.data[0x149] or rom.data[0x147] in _MBC2:
        return Region("cartridge RAM", 0xA000, 0xC000), work, high
    return work, high


def hex_lines(memory: Memory, address: int, lines: int, before: bytes = b"") -> list[str]:
    """Return ``lines`` of 16 bytes from ``address`` on; a ``*`` follows each byte that differs from ``before``."""
    raw = bytes(memory.read(address, 16 * lines))
    shown = [f"{byte:02X}{'*' if before and byte != before[at] else ' '}" for at, byte in enumerate(raw)]
    return [f"{address + at:04X}  {' '.join(shown[at : at + 16])}".rstrip() for at in range(0, len(raw), 16)]
