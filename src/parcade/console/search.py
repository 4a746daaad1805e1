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
KINDS = {"u8": 1, "u16": 2}  # what can be searched for, in bytes; u16 is little endian
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
        """Return every place a value of ``kind`` can stand; none reaches from one region into the next."""
        places = np.arange(len(image), dtype=np.int64)
        if KINDS[kind] == 2:
            places = places[:-1][np.diff(self._addresses) == 1]
        return Candidates(kind, places, values_at(image, places, kind))

    def narrow(self, candidates: Candidates, image: Image, test: str, number: int | None = None) -> Candidates:
        """Return the candidates that pass ``test``, one of ``TESTS``, with their values in ``image``.

        ``equals`` needs ``number``; ``increased`` and ``decreased`` take it as the exact difference.
        """
        now = values_at(image, candidates.places, candidates.kind)
        passed = _passed(candidates.values, now, test, number)
        return Candidates(candidates.kind, candidates.places[passed], now[passed])


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
    """Return the values of ``kind`` that start at ``places``."""
    values = image[places].astype(np.int64)
    if KINDS[kind] == 2:
        values += image[places + 1].astype(np.int64) << 8
    return values


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
