"""Lantern's floors as pictures: the game itself draws each room, and the background is read from video memory."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from parcade.console.base import Console, button_mask
from parcade.game.lantern.state import BLOCK, BLOCK_SIZE, LANTERN, PLAYING, LanternState

Picture = npt.NDArray[np.uint8]  # (height, width, 3)
ROOM_WIDTH, ROOM_HEIGHT, SCORE_LINE = 160, 128, 16  # pixels
_LCDC, _BGP = 0xFF40, 0xFF47
_SHADES = np.array([255, 153, 85, 0], np.uint8)  # PyBoy's greys
# Bit of a door byte, step of the room index, button, and where the hero stands a cell before the door.
_DOORS = ((0, -4, "up", (72, 32)), (1, 4, "down", (72, 112)), (2, -1, "left", (16, 72)), (3, 1, "right", (128, 72)))
_MOST_FRAMES = 120
_X, _INVULNERABLE, _KEYS = BLOCK + 10, BLOCK + 16, BLOCK + 17


def floor_picture(console: Console, floor: int = 1) -> Picture | None:
    """Return a floor of the game just begun, all rooms of it; None if it cannot be reached."""
    for _ in range(1, floor):
        rooms = _rooms(console)
        state = _read(console)
        if state.lantern_room not in rooms or not _climb(console, rooms[state.lantern_room][0]):
            return None
    state = _read(console)
    drawn = np.zeros((state.grid_h * ROOM_HEIGHT, state.grid_w * ROOM_WIDTH, 3), np.uint8)
    for room, (_, picture) in _rooms(console).items():
        top, left = room // 4 * ROOM_HEIGHT, room % 4 * ROOM_WIDTH
        drawn[top : top + ROOM_HEIGHT, left : left + ROOM_WIDTH] = picture[SCORE_LINE:, :, None]
    return drawn


def _rooms(console: Console) -> dict[int, tuple[bytes, Picture]]:
    """Return a save state in every room of the floor, and the room's picture.

    The hero is put before each door in turn, with a key, and walks through: the game draws a room when it is entered.
    """
    start = console.save()
    found = {_read(console).room: (start, background(console))}
    ahead = deque([start])
    while ahead:
        here = ahead.popleft()
        for bit, step, button, place in _DOORS:
            console.load(here)
            state = _read(console)
            is_door = state.block[48 + state.room] >> bit & 1
            if is_door and state.room + step not in found and _walk(console, button, place):
                found[_read(console).room] = console.save(), background(console)
                ahead.append(found[_read(console).room][0])
    console.load(start)
    return found


def _climb(console: Console, in_lantern_room: bytes) -> bool:
    """Take the lantern; return whether the next floor has begun."""
    console.load(in_lantern_room)
    state = _read(console)
    for at in range(144, 160, 4):
        if state.block[at] == LANTERN:
            console.write(_X, bytes((state.block[at + 1] * 16, state.block[at + 2] * 16 + 16)))
    for _ in range(_MOST_FRAMES):
        console.advance(0, 1, draw=False)
        now = _read(console)
        if now.floor > state.floor and now.mode == PLAYING:
            console.advance(0, 3, draw=False)
            return True
    return False


def _read(console: Console) -> LanternState:
    return LanternState(bytes(console.read(BLOCK, BLOCK_SIZE)))


def _walk(console: Console, button: str, place: tuple[int, int]) -> bool:
    """Walk through a door; return whether the hero stands in another room."""
    before, held = _read(console).room, button_mask(console.buttons, button)
    console.write(_X, bytes(place))
    for _ in range(_MOST_FRAMES):
        console.write(_INVULNERABLE, b"\x40")
        console.write(_KEYS, b"\1")
        console.advance(held, 1, draw=False)
        state = _read(console)
        if state.room != before and state.mode == PLAYING:
            console.advance(0, 3, draw=False)  # the new room reaches video memory
            return True
    return False


def background(console: Console) -> Picture:
    """Return the background layer of the screen (144, 160), without sprites, as the shades of grey it has."""
    control, shades = console.read(_LCDC, 1)[0], console.read(_BGP, 1)[0]
    start = 0x9C00 if control & 8 else 0x9800
    numbers = np.frombuffer(bytes(console.read(start, 32 * 18)), np.uint8).reshape(18, 32)[:, :20]
    tiles = np.frombuffer(bytes(console.read(0x8000, 0x1800)), np.uint8).reshape(384, 8, 2)
    index = numbers.astype(np.int64) if control & 16 else 256 + numbers.astype(np.int8).astype(np.int64)
    low, high = (np.unpackbits(tiles[..., plane, None], axis=2) for plane in (0, 1))
    colours = (low | high << 1)[index]  # (18, 20, 8, 8)
    palette = _SHADES[[shades >> 2 * colour & 3 for colour in range(4)]]
    shown: Picture = palette[colours].transpose(0, 2, 1, 3).reshape(144, 160)
    return shown
