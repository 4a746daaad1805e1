"""The showcase: a shared file in which viewers ask for pictures, and workers lay them down where somebody asked.

Its first part is mapped and small: counters, and the trails of where the slots have been. Pictures and details stand
behind it in the same file; they are written and read as files are, so that they take memory only while somebody looks,
no worker maps them, and a full disk is an error of the write instead of a SIGBUS.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parcade.pool.mapped import Field, Layout, MappedArrays, plan_layout

PICTURE_ROOM = 1 << 20  # bytes; 512 x 512 pixels
DETAIL_ROOM = 1 << 16
MOST_MAPS, MAP_NAME = 512, 48  # maps with a name, and bytes of one
TRAILS = 1 << 20  # places that are kept, of all slots together
MOST_FAULTS, FAULT_WORDS = 32, 320  # functions of a title that are left out, and bytes for what is said of one
_PAGE = 4096


class Trail(NamedTuple):
    """One slot's newest places, the oldest first."""

    places: npt.NDArray[np.int16]  # (n, 3): number of the map in the worker's list, column, row
    end: int  # how many there were in all


class Shown(NamedTuple):
    """A picture that a worker laid down."""

    pixels: npt.NDArray[np.uint32]  # (height, width): red in the lowest byte, then green and blue
    number: int  # which picture of the slot this is
    block: int
    row: int  # of the block: the step after which it was drawn


def showcase_fields(n_envs: int, n_workers: int, has_places: bool) -> list[Field]:
    """Return the arrays of the mapped part."""
    slots, length = (n_envs,), max(256, min(1 << 14, TRAILS // n_envs)) if has_places else 0
    return [
        Field("n_requests", (1,), "<u8", fill=0),  # a viewer counts it up after it has asked
        Field("asked", slots, "<u4", fill=0),  # a viewer counts up: one more picture, please
        Field("answered", slots, "<u4", fill=0),  # the worker: so far I have answered
        Field("count", slots, "<u8", fill=0),  # of pictures, times two; odd while one is being written
        Field("size", (n_envs, 2), "<u2", fill=0),  # height and width; 0 where the env draws nothing
        Field("moment", (n_envs, 2), "<i4", fill=0),  # block and row that the picture belongs to
        Field("cost_us", slots, "<u4", fill=0),  # what the last picture cost the worker
        Field("detail_asked", slots, "<u4", fill=0),
        Field("detail_answered", slots, "<u4", fill=0),
        Field("detail_count", slots, "<u8", fill=0),
        Field("detail_size", slots, "<u4", fill=0),
        Field("draws", slots, "|u1", fill=0),  # 1 while an env's own drawing code runs, which may kill
        Field("trail", (n_envs, length * 3), "<i2", fill=0),
        Field("trail_end", slots, "<i8", fill=0),
        Field("map_names", (n_workers, MOST_MAPS * MAP_NAME), "|u1", fill=0),
        Field("n_maps", (n_workers,), "<i4", fill=0),
        Field("title_asked", (n_workers,), "|u1", fill=0),  # which function of the title runs now, for viewers
        Field("faults", (n_workers, MOST_FAULTS * FAULT_WORDS), "|u1", fill=0),  # functions that raised, and what
        Field("n_faults", (n_workers,), "<i4", fill=0),
    ]


class Showcase:
    """One pool's showcase; see ``showing`` for what workers do with it."""

    def __init__(self, mapped: MappedArrays) -> None:
        self.mapped, self.arrays = mapped, mapped.arrays
        self.n_envs = len(self.arrays["asked"])
        self.trail_length = self.arrays["trail"].shape[1] // 3
        self._pictures = -(-mapped.layout.size // _PAGE) * _PAGE
        self._details = self._pictures + self.n_envs * PICTURE_ROOM
        self._fd = -1

    @classmethod
    def create(cls, n_envs: int, n_workers: int, has_places: bool) -> Showcase:
        """Make the file; whoever makes it removes it."""
        return cls(MappedArrays.create(plan_layout(showcase_fields(n_envs, n_workers, has_places))))

    @classmethod
    def attach(cls, path: str | Path, layout: Layout) -> Showcase:
        """Map what another process made."""
        mapped = MappedArrays.attach(path, layout)
        if "n_requests" not in mapped.arrays:
            raise ValueError("its showcase is of another version of Parcade")
        return cls(mapped)

    def close(self) -> None:
        """Let the file go; its maker removes it. Twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self.arrays = {}
        self.mapped.close()

    def _file(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.mapped.path, os.O_RDWR | os.O_CLOEXEC)
        return self._fd

    def ask(self, slots: Iterable[int], details: Iterable[int] = ()) -> None:
        """Ask for one more picture of each slot, and for the details of some."""
        arrays = self.arrays
        for slot in slots:
            arrays["asked"][slot] += 1
        for slot in details:
            arrays["detail_asked"][slot] += 1
        arrays["n_requests"][0] += 1

    def lay_picture(self, slot: int, pixels: npt.NDArray[np.uint8] | None, block: int, row: int) -> None:
        """Write a picture of four bytes for each pixel, or that there is none; one that is too large is none."""
        arrays = self.arrays
        if pixels is not None and pixels.nbytes > PICTURE_ROOM:
            pixels = None
        count = int(arrays["count"][slot]) | 1  # odd already: the one before died while it wrote
        arrays["count"][slot] = count
        if pixels is not None:
            os.pwrite(self._file(), np.ascontiguousarray(pixels).data, self._pictures + slot * PICTURE_ROOM)
        arrays["size"][slot] = (0, 0) if pixels is None else pixels.shape[:2]
        arrays["moment"][slot] = block, row
        arrays["count"][slot] = count + 1

    def picture(self, slot: int, newer_than: int) -> Shown | None:
        """Return the slot's picture if it is newer than the one with this number and nobody writes it just now."""
        arrays = self.arrays
        count = int(arrays["count"][slot])
        if count % 2 or count == newer_than:
            return None
        height, width = (int(side) for side in arrays["size"][slot])
        if height * width * 4 > PICTURE_ROOM:  # torn: the size of a picture that is being written
            return None
        pixels = np.empty((height, width), np.uint32)
        block, row = (int(part) for part in arrays["moment"][slot])
        if pixels.size:
            os.preadv(self._file(), [pixels.data], self._pictures + slot * PICTURE_ROOM)
        return Shown(pixels, count, block, row) if int(arrays["count"][slot]) == count else None

    def lay_detail(self, slot: int, text: bytes) -> None:
        """Write what is known of a slot; what is longer than its room is left out."""
        arrays = self.arrays
        text = text if len(text) <= DETAIL_ROOM else b"{}"
        count = int(arrays["detail_count"][slot]) | 1
        arrays["detail_count"][slot] = count
        os.pwrite(self._file(), text, self._details + slot * DETAIL_ROOM)
        arrays["detail_size"][slot] = len(text)
        arrays["detail_count"][slot] = count + 1

    def detail(self, slot: int, newer_than: int) -> tuple[int, bytes] | None:
        """Return the count and the text of a slot's details if they are newer."""
        arrays = self.arrays
        count = int(arrays["detail_count"][slot])
        if count % 2 or count == newer_than:
            return None
        size = min(int(arrays["detail_size"][slot]), DETAIL_ROOM)
        text = os.pread(self._file(), size, self._details + slot * DETAIL_ROOM)
        return (count, text) if int(arrays["detail_count"][slot]) == count else None

    def trail(self, slot: int, since: int = 0) -> Trail:
        """Return the places a slot was at since its ``since``-th, as far as they are kept."""
        end, length = int(self.arrays["trail_end"][slot]), self.trail_length
        first = max(since, end - length, 0)
        ring = self.arrays["trail"][slot].reshape(length, 3) if length else np.zeros((1, 3), np.int16)
        return Trail(ring[np.arange(first, end) % max(1, length)].copy(), end)

    def map_names(self, worker: int) -> list[str]:
        """Return the names of the maps that a worker's places are on."""
        n_maps = min(int(self.arrays["n_maps"][worker]), MOST_MAPS)
        names = self.arrays["map_names"][worker].reshape(MOST_MAPS, MAP_NAME)[:n_maps]
        return [name.tobytes().rstrip(b"\0").decode("utf-8", "replace") for name in names]

    def add_map(self, worker: int, name: str) -> int:
        """Give a map the worker's next number; -1 where there are too many."""
        number = int(self.arrays["n_maps"][worker])
        if number >= MOST_MAPS:
            return -1
        encoded = name.encode()[:MAP_NAME]
        row = self.arrays["map_names"][worker].reshape(MOST_MAPS, MAP_NAME)[number]
        row[: len(encoded)] = np.frombuffer(encoded, np.uint8)
        self.arrays["n_maps"][worker] = number + 1
        return number

    def add_fault(self, worker: int, function: str, why: str) -> None:
        """Note that a title's function raised; the trainer says so, and no life of this worker calls it again."""
        number = int(self.arrays["n_faults"][worker])
        if number < MOST_FAULTS:
            _write_text(self.arrays["faults"][worker].reshape(MOST_FAULTS, FAULT_WORDS)[number], f"{function}\n{why}")
            self.arrays["n_faults"][worker] = number + 1

    def faults(self, worker: int, since: int = 0) -> list[tuple[str, str]]:
        """Return which functions of the title raised in a worker, after the first ``since``, and what."""
        n_faults = min(int(self.arrays["n_faults"][worker]), MOST_FAULTS)
        rows = self.arrays["faults"][worker].reshape(MOST_FAULTS, FAULT_WORDS)[since:n_faults]
        found = [_text_of(row).partition("\n") for row in rows]
        return [(function, why) for function, _, why in found]


def _write_text(row: npt.NDArray[np.uint8], text: str) -> None:
    encoded = text.encode("utf-8", "replace")[: len(row)]
    row[: len(encoded)] = np.frombuffer(encoded, np.uint8)
    row[len(encoded) :] = 0


def _text_of(row: npt.NDArray[np.uint8]) -> str:
    return row.tobytes().rstrip(b"\0").decode("utf-8", "replace")
