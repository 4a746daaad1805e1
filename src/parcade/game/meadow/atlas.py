"""Meadow's maps as pictures: the map table is found in the ROM, tiles and colours are read from video memory."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from parcade.console.base import Console
from parcade.errors import RomError
from parcade.game.meadow.state import BLOCK, MAPS

Picture = npt.NDArray[np.uint8]  # (height, width, 3)
_ROM, _ROM_SIZE = 0x08000000, 256 << 10
_SCREEN = 0x06000000 + 0x800 * 24  # where the game lays the map it is on, 64 x 64 tiles in four blocks
_MAP = struct.Struct("<6I7Bx")  # name, tiles, kinds, warps, people, signs; width, height and more


def map_pictures(console: Console) -> dict[str, Picture]:
    """Return every map by name; a game must have begun, at home."""
    rom = bytes(console.read(_ROM, _ROM_SIZE))
    first = _table(console, rom)
    tiles, palette = _tiles(console), _palette(console)
    found = {}
    for number, name in enumerate(MAPS):
        _, start, *_, width, height, _, _, _, _, _ = _MAP.unpack_from(rom, first + number * _MAP.size)
        cells = np.frombuffer(rom, "<u2", width * height * 4, start - _ROM).reshape(height * 2, width * 2)
        found[name] = _drawn(cells, tiles, palette)
    return found


def _table(console: Console, rom: bytes) -> int:
    """Return where the table of maps begins: its first entry points to the tiles that video memory shows now.

    Rooms resemble each other, so all rows are compared. Home is narrow: it lies in the first of the four blocks.
    """
    width, height = console.read(BLOCK + 10, 1)[0], console.read(BLOCK + 11, 1)[0]
    shown = b"".join(bytes(console.read(_SCREEN + row * 64, width * 4)) for row in range(height * 2))
    at = rom.find((_ROM + rom.find(shown)).to_bytes(4, "little"))
    if shown not in rom or at < 4 or rom[at + 20 : at + 22] != bytes((width, height)):
        raise RomError("meadow: the table of its maps was not found in the ROM")
    return at - 4


def _tiles(console: Console) -> npt.NDArray[np.uint8]:
    """(1024, 8, 8): colour numbers of all background tiles."""
    packed = np.frombuffer(bytes(console.read(0x06000000, 32 << 10)), np.uint8)
    pixels = np.stack([packed & 15, packed >> 4], axis=-1)
    return pixels.reshape(1024, 8, 8)


def _palette(console: Console) -> npt.NDArray[np.uint8]:
    """(16, 16, 3): the background's colours, as mGBA shows them."""
    words = np.frombuffer(bytes(console.read(0x05000000, 512)), "<u2").reshape(16, 16)
    parts = np.stack([words >> shift & 31 for shift in (0, 5, 10)], axis=-1).astype(np.uint8)
    shown: npt.NDArray[np.uint8] = (parts << 3 | parts >> 2).astype(np.uint8)
    return shown


def _drawn(cells: npt.NDArray[np.uint16], tiles: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8]) -> Picture:
    shapes = tiles[cells & 1023]
    shapes = np.where((cells >> 10 & 1)[..., None, None], shapes[..., ::-1], shapes)
    shapes = np.where((cells >> 11 & 1)[..., None, None], shapes[..., ::-1, :], shapes)
    colours = palette[(cells >> 12)[..., None, None], shapes]  # (rows, columns, 8, 8, 3)
    rows, columns = cells.shape
    drawn: Picture = colours.transpose(0, 2, 1, 3, 4).reshape(rows * 8, columns * 8, 3)
    return drawn
