"""The newest picture of every slot, and which 8 x 8 blocks of it changed when: a client gets only what it lacks."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from parcade.pool.showcase import Showcase
from parcade.view.page.palette import Palette

SIDE = 8  # pixels of a block's edge
_HEAD = struct.Struct("<BBxxI")  # kind, bytes of an index, number of the message
_COUNTS = struct.Struct("<III")  # first new colour, new colours, tiles
_TILE = struct.Struct("<HHHH")  # slot, height, width, blocks
PICTURES = 1
_LEVEL = 1  # of zlib: 34 us for a whole Game Boy picture that becomes 0.8 kB, PNG takes 850 us (November 2026)


@dataclass
class _Tile:
    pixels: npt.NDArray[np.uint32]  # (height, width) rounded up to whole blocks
    size: tuple[int, int]
    changed: npt.NDArray[np.int64]  # (rows, columns) of blocks: the tick at which each changed last

    def blocks(self) -> npt.NDArray[np.uint32]:
        """Return a view (rows, columns, 8, 8)."""
        height, width = self.pixels.shape
        return self.pixels.reshape(height // SIDE, SIDE, width // SIDE, SIDE).transpose(0, 2, 1, 3)


@dataclass
class Sent:
    """What one client has."""

    ticks: dict[int, int] = field(default_factory=dict)  # slot -> the tick whose blocks it has
    colours: int = 0
    generation: int = 0
    number: int = 0  # of the last message

    def forget(self) -> None:
        """It has nothing of the pictures to come."""
        self.ticks.clear()
        self.colours = self.generation = 0


class Pictures:
    """All slots of one training."""

    def __init__(self) -> None:
        self.palette = Palette()
        self.tick = 0
        self._tiles: dict[int, _Tile] = {}
        self._newest: dict[int, int] = {}
        self.moments: dict[int, tuple[int, int]] = {}  # slot -> block and row of its picture

    def collect(self, showcase: Showcase, slots: Iterable[int]) -> list[int]:
        """Take over what workers have laid down; return the slots with news, be it that there is no picture."""
        self.tick += 1
        news = []
        for slot in slots:
            shown = showcase.picture(slot, self._newest.get(slot, 0))
            if shown is not None:
                self._newest[slot] = shown.number
                self.moments[slot] = shown.block, shown.row
                news.append(slot)
                if shown.pixels.size:
                    self.put(slot, shown.pixels)
        return news

    def has(self, slot: int) -> bool:
        """Whether the slot has shown a picture."""
        return slot in self._tiles

    def picture(self, slot: int) -> npt.NDArray[np.uint32] | None:
        """Return the slot's newest picture."""
        tile = self._tiles.get(slot)
        return None if tile is None else tile.pixels[: tile.size[0], : tile.size[1]]

    def put(self, slot: int, pixels: npt.NDArray[np.uint32]) -> None:
        """Note a slot's newest picture."""
        tile = self._tiles.get(slot)
        if tile is None or tile.size != pixels.shape:
            tile = self._tiles[slot] = _blank(pixels.shape[0], pixels.shape[1], self.tick)
        if pixels.shape != tile.pixels.shape:
            padded = np.zeros_like(tile.pixels)
            padded[: pixels.shape[0], : pixels.shape[1]] = pixels
            pixels = padded
        tile.changed[changed_blocks(tile.pixels, pixels)] = self.tick
        tile.pixels = pixels

    def put_planes(self, slot: int, planes: npt.NDArray[np.uint8], channels: int) -> None:
        """Note the newest frame of a stack (planes, height, width) as a slot's picture."""
        newest = planes[-channels:].astype(np.uint32)
        red, green, blue = newest if channels == 3 else (newest[0],) * 3
        self.put(slot, red | green << 8 | blue << 16)

    def message(self, slots: Iterable[int], sent: Sent) -> bytes | None:
        """Return all that a client lacks of these slots, and note that it has it; None if it lacks nothing."""
        if sent.generation != self.palette.generation:
            sent.forget()
            sent.generation = self.palette.generation
        heads, places, pixels = [], [], []
        for slot in slots:
            tile = self._tiles.get(slot)
            if tile is None:
                continue
            numbers = np.flatnonzero(tile.changed > sent.ticks.get(slot, -1))
            if len(numbers):
                heads.append(_TILE.pack(slot, *tile.size, len(numbers)))
                places.append(numbers.astype(np.uint16))
                columns = tile.changed.shape[1]
                pixels.append(tile.blocks()[numbers // columns, numbers % columns])
            sent.ticks[slot] = self.tick
        return self._packed(heads, np.concatenate(places), np.concatenate(pixels), sent) if heads else None

    def _packed(
        self, heads: list[bytes], places: npt.NDArray[np.uint16], pixels: npt.NDArray[np.uint32], sent: Sent
    ) -> bytes:
        generation = self.palette.generation
        indices = self.palette.indices(pixels)
        if generation != self.palette.generation:  # the palette began anew: what the client has is of the old one
            sent.colours = 0
        colours = self.palette.colours
        is_small = len(colours) <= 256
        news = np.array(colours[sent.colours :], np.uint32)
        counts = _COUNTS.pack(sent.colours, len(news), len(heads))
        data = (news, places, indices.astype(np.uint8) if is_small else indices)
        body = b"".join([counts, *heads, *(part.tobytes() for part in data)])
        sent.colours, sent.number = len(colours), sent.number + 1
        return _HEAD.pack(PICTURES, 1 if is_small else 2, sent.number) + zlib.compress(body, _LEVEL)


def _blank(height: int, width: int, tick: int) -> _Tile:
    rows, columns = -(-height // SIDE), -(-width // SIDE)
    return _Tile(
        np.zeros((rows * SIDE, columns * SIDE), np.uint32), (height, width), np.full((rows, columns), tick, np.int64)
    )


def changed_blocks(before: npt.NDArray[np.uint32], after: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """(rows, columns) of 8 x 8 blocks: where two pictures differ. 8 us for a Game Boy's.

    Two pixels are compared as one number, and eight pixels' answers are looked at as one.
    """
    height = len(before)
    differ = before.view(np.uint64) != after.view(np.uint64)
    eights = differ.view(np.uint32).reshape(height // SIDE, SIDE, -1)
    found: npt.NDArray[np.bool_] = np.bitwise_or.reduce(eights, axis=1) != 0
    return found
