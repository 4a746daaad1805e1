"""Game Boy and Game Boy Color through PyBoy, with a guard for each of its hazards."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import io
import warnings
from functools import cache
from importlib import metadata
from typing import Any

from parcade.console.base import Screen, check_frames, check_range
from parcade.console.cartridge import TYPE, check_cartridge
from parcade.console.picture import ScreenPictures
from parcade.console.pyboy_state import pack, readings, unpack
from parcade.console.rom import Rom
from parcade.errors import RomError, SaveStateError

with warnings.catch_warnings():  # importing PyBoy tells which SDL2 it found; nobody asked
    warnings.simplefilter("ignore")
    from pyboy import PyBoy, utils
    from pyboy.utils import WindowEvent

BUTTONS = ("right", "left", "up", "down", "a", "b", "select", "start")
_NAMES = (
    "ARROW_RIGHT",
    "ARROW_LEFT",
    "ARROW_UP",
    "ARROW_DOWN",
    "BUTTON_A",
    "BUTTON_B",
    "BUTTON_SELECT",
    "BUTTON_START",
)
_PRESS = tuple(getattr(WindowEvent, f"PRESS_{name}") for name in _NAMES)
_RELEASE = tuple(getattr(WindowEvent, f"RELEASE_{name}") for name in _NAMES)
_READABLE = ((0x0000, 0x10000),)
_WRITABLE = ((0x8000, 0x10000),)
_WORK_RAM = range(0xC000, 0xE000)
_STATE_VERSION: int = getattr(utils, "STATE_VERSION", -1)  # not known: every state is tried first
_KNOWN_RAM_LAYOUT = {"2.8.1"}  # PyBoy versions whose work RAM may be viewed in place
_SETTLED = 40  # frames after power-on: the boot logo is shown and the LCD has been on for a while
_tried: dict[tuple[str, bytes], bytes] = {}  # ROM and foreign state, by their hashes: the state as PyBoy reads it


class GameBoy(ScreenPictures):
    """A Game Boy with a cartridge inside; see ``Console`` for the contract."""

    buttons: tuple[str, ...] = BUTTONS
    screen_shape: tuple[int, int, int] = (144, 160, 4)

    def __init__(self, rom: Rom) -> None:
        check_cartridge(rom)
        self._rom, self._sha1 = rom, rom.sha1
        self._pyboy = _new_pyboy(rom)
        self._memory = self._pyboy.memory
        self._screen: Screen = self._pyboy.screen.ndarray
        self._held = 0
        self._work_ram = _work_ram_view(self._pyboy)
        self._open = True

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        """Hold the mask for ``frames`` frames; only the last is drawn, if any."""
        if frames < 1:
            check_frames(frames)  # PyBoy before 2.8 never returns from tick(0)
        if held != self._held:
            self._send(held, held ^ self._held)
        self._pyboy.tick(frames, draw, False)

    def _send(self, held: int, changed: int) -> None:
        for event in _events(held, changed):
            self._pyboy.send_input(event)
        self._held = held

    def screen(self) -> Screen:
        """Live (144, 160, 4) view; it shows the game up to two frames behind its memory."""
        return self._screen

    def read(self, address: int, length: int) -> bytes | memoryview:
        """Return memory as the CPU sees it; in place for the work RAM of a plain Game Boy."""
        if self._work_ram is not None and address in _WORK_RAM and 0 <= length <= _WORK_RAM.stop - address:
            offset = address - _WORK_RAM.start
            return self._work_ram[offset : offset + length]
        check_range(address, length, _READABLE, "gameboy")  # PyBoy itself answers any address with a number
        return bytes(self._memory[address : address + length]) if length else b""

    def read_bank(self, bank: int, address: int, length: int) -> bytes:
        """Return memory of a chosen ROM, video RAM, cartridge RAM or work RAM bank."""
        check_range(address, length, _READABLE, "gameboy")
        return bytes(self._memory[bank, address : address + length])

    def write(self, address: int, data: bytes) -> None:
        """Write RAM or registers; the ROM area is refused (a write there would switch banks)."""
        check_range(address, len(data), _WRITABLE, "gameboy")
        if len(data) == 1:
            self._memory[address] = data[0]
        elif data:
            self._memory[address : address + len(data)] = list(data)

    def save(self) -> bytes:
        """Return the machine as bytes (about 36 ms)."""
        return pack(self._held, _state_of(self._pyboy), self._sha1)

    def load(self, save_state: bytes) -> None:
        """Take what ``save`` returned, or a state file written by PyBoy 1.6 or later (no button held).

        A state that is refused leaves the machine as it was.
        """
        state = unpack(save_state, self._sha1)
        is_ours = state.is_whole and state.raw[0] == _STATE_VERSION
        self._pyboy.load_state(io.BytesIO(state.raw if is_ours else self._translated(state.raw)))
        self._held = state.held or 0
        if state.held is None:
            self._send(0, 0xFF)

    def _translated(self, raw: bytes) -> bytes:
        """Return a state of unknown origin as one that loads; it is tried once in a process."""
        key = self._sha1, hashlib.sha1(raw, usedforsecurity=False).digest()
        if key not in _tried:
            _tried[key] = _try(raw, self._rom)
        return _tried[key]

    def close(self) -> None:
        """Stop without writing a file; twice is fine."""
        if self._open:
            self._open = False
            self._work_ram = None
            self._pyboy.stop(save=False)


def _new_pyboy(rom: Rom) -> Any:
    # From bytes, never from a path: PyBoy reads and writes <rom>.ram beside a path, which N games would share.
    try:
        pyboy = PyBoy(io.BytesIO(rom.data), window="null", sound_emulated=False, log_level="CRITICAL")
    except Exception as error:
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RomError(f"{rom.name} does not start in PyBoy ({told}); it is damaged, or try console mgba") from None
    pyboy.set_emulation_speed(0)
    return pyboy


def _try(save_state: bytes, rom: Rom) -> bytes:
    """Return the reading that PyBoy takes to its last byte, as a state of the present version.

    On a machine of its own: PyBoy overwrites part of a machine before it finds a fault, and does not mind bytes left
    over. What an older version leaves out is then always that of a machine just switched on, whoever loads the state.
    """
    told = ""
    pyboy = _new_pyboy(rom)
    try:
        pyboy.tick(_SETTLED, False, False)
        for raw in readings(save_state, rom.data[TYPE]):
            file = io.BytesIO(raw)
            try:
                pyboy.load_state(file)
            except Exception as error:
                is_short = file.tell() == len(raw)
                told = (
                    "it ends too early, so it is cut or of another cartridge"
                    if is_short
                    else str(error or type(error).__name__)
                )
                continue
            if file.tell() == len(raw):
                return raw if raw[0] == _STATE_VERSION else _state_of(pyboy)
            told = f"{len(raw) - file.tell()} bytes are left over, so it is of another cartridge"
    finally:
        pyboy.stop(save=False)
    raise SaveStateError(
        f"the save state ({len(save_state)} bytes) does not load in PyBoy with {rom.name}: {told}; "
        "make one with the same ROM and PyBoy 2"
    )


def _state_of(pyboy: Any) -> bytes:
    file = io.BytesIO()
    pyboy.save_state(file)
    return file.getvalue()


@cache
def _events(held: int, changed: int) -> tuple[Any, ...]:
    """Return what to tell PyBoy so that the changed buttons are as in ``held``."""
    return tuple((_PRESS if held >> bit & 1 else _RELEASE)[bit] for bit in range(8) if changed >> bit & 1)


@cache
def _layout_is_known() -> bool:
    return metadata.version("pyboy") in _KNOWN_RAM_LAYOUT


def _work_ram_view(pyboy: Any) -> memoryview | None:
    """Return the 8 KiB of work RAM in place, or None where PyBoy's layout is not known.

    ``pyboy.memory[a:b]`` builds a list through one call per byte: 7.6 us per 256 bytes, against 0.1 us for the view.
    PyBoy keeps the RAM in a Cython memoryview; its data pointer and length stand at fixed offsets of the object.
    """
    if not _layout_is_known():
        return None
    board = next((o for o in gc.get_referents(pyboy) if type(o).__name__ == "Motherboard"), None)
    ram = next((o for o in gc.get_referents(board) if type(o).__name__ == "RAM"), None) if board else None
    if ram is None:
        return None
    words = (ctypes.c_uint64 * 6).from_address(id(ram))
    data, length = words[4], words[5]
    if length != len(_WORK_RAM):  # a Game Boy Color has banks here
        return None
    view = memoryview((ctypes.c_uint8 * length).from_address(data)).cast("B")
    probe = bytes(pyboy.memory[0xC000:0xE000])
    return view if bytes(view) == probe else None
