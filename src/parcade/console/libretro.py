"""Any console of stable-retro's libretro cores; one at a time per process, since a core keeps its state in globals.

Limits against ``parcade.console.gba``: every frame is drawn, memory is copied out, a cartridge clock shows the host's
time, and a state does not hold the cartridge's save memory.
"""

from __future__ import annotations

import gc
import json
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from parcade.console.base import AddressError, Screen, check_frames
from parcade.console.gba import GB_BUTTONS, GBA_BUTTONS
from parcade.console.mgba_state import gunzip, unpack
from parcade.console.picture import ScreenPictures
from parcade.console.rom import Rom, read_rom
from parcade.errors import EnvError, MissingExtraError, RomError, SaveStateError

_COPY_ALL = 64  # from so many bytes on, copying all memory blocks costs less than asking byte by byte
_GBA_ROM = 0x08000000
LARGEST_STATE = 64 << 20
_open: list[weakref.ref[LibretroConsole]] = []


def _stable_retro() -> Any:
    try:
        import stable_retro
    except ImportError as error:
        raise MissingExtraError(f"this console needs stable-retro ({error}); run: pip install parcade[retro]") from None
    return stable_retro


def integrated_rom(game: str) -> Rom:
    """Return a ROM that came with stable-retro or was imported into it, such as ``Airstriker-Genesis-v0``."""
    retro = _stable_retro()
    try:
        return read_rom(retro.data.get_original_romfile_path(game))
    except FileNotFoundError:
        raise RomError(f"stable-retro has no ROM of {game!r}; import yours: python -m stable_retro.import") from None


def integrated_state(game: str) -> bytes:
    """Return the state in which stable-retro starts a game of its own."""
    retro = _stable_retro()
    about = json.loads(Path(retro.data.get_file_path(game, "metadata.json")).read_text(encoding="utf-8"))
    return Path(retro.data.get_file_path(game, f"{about['default_state']}.state")).read_bytes()


class LibretroConsole(ScreenPictures):
    """A console of stable-retro with a cartridge inside; see ``Console`` for the contract."""

    _name: str

    def __init__(self, rom: Rom) -> None:
        retro = _stable_retro()
        busy = next((console for ref in _open if (console := ref()) is not None), None)
        if busy is not None:
            raise EnvError(
                f"libretro runs one console per process and {busy._name} is open; "
                f"close it first, or give {rom.name} a worker process of its own"
            )
        gc.collect()  # an emulator in a forgotten cycle holds the place too
        self._name = rom.name
        self._folder = tempfile.TemporaryDirectory(prefix="parcade-rom-")  # a core opens files by their extension
        path = Path(self._folder.name) / f"game{_extension(rom)}"
        path.write_bytes(rom.data)
        try:
            system = retro.get_romfile_system(str(path))
            self._emulator: Any = retro.RetroEmulator(str(path))
        except Exception as error:
            self._folder.cleanup()
            if "multiple emulator" in str(error):  # somebody else's, opened without this class
                raise EnvError(
                    f"libretro runs one console per process and one is open; close it for {rom.name}"
                ) from None
            raise RomError(f"no libretro core plays {rom.name}: {error}") from None
        _open[:] = [weakref.ref(self)]
        self._data: Any = retro.data.GameData()
        self._emulator.configure_data(self._data)
        self._emulator.step()  # a core knows its picture and memory only after a frame
        info = retro.get_system_info(system)
        names = info["buttons"]
        self.buttons = _button_names(rom, names)
        self._places = np.array([names.index(name.upper()) for name in self.buttons])
        self._mask = np.zeros(len(names), np.uint8)
        self._bits = np.arange(len(self.buttons))
        overlay = info.get("overlay")  # memory blocks in another byte order than the CPU's, in words of so many bytes
        self._swapped = int(overlay[2]) - 1 if overlay else 0
        # Inner parts of stable-retro: one byte read (else whole blocks are copied out) and one byte written.
        self._extract, self._assign = (getattr(self._data.memory, name, None) for name in ("extract", "assign"))
        self._rom = memoryview(rom.data) if rom.system == "gba" else memoryview(b"")
        self._title = rom.data[0xA0:0xAC] if rom.system == "gba" else b""  # in an mGBA state it stands at 0x10
        self._screen: Screen = np.ascontiguousarray(self._emulator.get_screen())
        height, width, channels = self._screen.shape
        self.screen_shape = (height, width, channels)
        self._raw_size = len(self._emulator.get_state())
        self._blocks: dict[int, bytes] = {}  # copied out when asked for, dropped when the machine moves
        self._ranges = tuple((start, start + len(block)) for start, block in self._copied().items())

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        """Hold the mask for ``frames`` frames; the last is shown, if ``draw`` (the core draws all of them)."""
        check_frames(frames)
        self._check_open()
        self._mask[self._places] = held >> self._bits & 1
        self._emulator.set_button_mask(self._mask, 0)
        for _ in range(frames):
            self._emulator.step()
        self._blocks = {}
        if draw:
            picture = self._emulator.get_screen()  # a game may change its resolution; the view keeps its shape
            height, width, _ = np.minimum(picture.shape, self.screen_shape)
            self._screen[:height, :width] = picture[:height, :width]

    def screen(self) -> Screen:
        """Live (height, width, 3) view: red, green, blue."""
        return self._screen

    def read(self, address: int, length: int) -> bytes | memoryview:
        """Return a copy of memory at the core's own addresses; of the GBA the ROM too, which a core does not show."""
        if 0 <= address - _GBA_ROM <= len(self._rom) - length and length >= 0:
            return self._rom[address - _GBA_ROM : address - _GBA_ROM + length]
        start = self._check(address, length)
        if length >= _COPY_ALL and not self._swapped:
            return self._copied()[start][address - start : address - start + length]
        if self._extract is not None:
            return bytes(self._extract(at, "|u1") for at in range(address, address + length))
        block = self._copied()[start]
        return bytes(block[(at - start) ^ self._swapped] for at in range(address, address + length))

    def write(self, address: int, data: bytes) -> None:
        """Write memory at the core's own addresses."""
        self._check(address, len(data))
        if self._assign is None:
            raise EnvError("this stable-retro has no way to write memory; install stable-retro 1.0.1")
        for at, byte in enumerate(data, address):
            self._assign(at, "|u1", byte)
        self._blocks = {}

    def save(self) -> bytes:
        """Return the core's state; bytes it never writes differ from call to call, and save memory is not in it."""
        self._check_open()
        return bytes(self._emulator.get_state())

    def load(self, save_state: bytes) -> None:
        """Take what ``save`` returned, stable-retro's gzipped state files and, for the GBA, mGBA's own."""
        self._check_open()
        raw = save_state
        if raw.startswith(b"\x1f\x8b"):
            raw = gunzip(raw, LARGEST_STATE)
        if self._title:  # this core says yes to any bytes of the right size
            raw = bytes(unpack(raw, self._raw_size)[0])
        fits = len(raw) == self._raw_size and raw[0x10 : 0x10 + len(self._title)] == self._title
        if not fits or not self._emulator.set_state(raw):
            raise SaveStateError(
                f"the save state ({len(save_state)} bytes) is damaged or of another game than {self._name}; "
                f"a state of this core has {self._raw_size} bytes"
            )
        self._blocks = {}
        self._screen.fill(0)

    def close(self) -> None:
        """Free the core and with it the process's one place; twice is fine."""
        if self._emulator is not None:
            self._emulator = self._data = self._extract = self._assign = None
            self._folder.cleanup()
            _open.clear()

    def _check_open(self) -> None:
        """Raise if closed; no method keeps the emulator in a local, where a caught error would hold the one place."""
        if self._emulator is None:
            raise ValueError("the console is closed")

    def _copied(self) -> dict[int, bytes]:
        if not self._blocks:
            self._blocks = dict(self._data.memory.blocks)
        return self._blocks

    def _check(self, address: int, length: int) -> int:
        """Return the start of the memory block that holds the range."""
        self._check_open()
        for start, end in self._ranges:
            if start <= address and address + length <= end and length >= 0:
                return start
        raise AddressError(f"libretro: {length} bytes at {address:#x} lie outside the console's memory")


def _extension(rom: Rom) -> str:
    suffix = Path(rom.name).suffix.lower()
    return {"gba": ".gba", "gb": suffix if suffix == ".gbc" else ".gb"}.get(rom.system, suffix)


def _button_names(rom: Rom, names: list[str | None]) -> tuple[str, ...]:
    """The Game Boys keep the order of our other consoles, so that a game's masks fit; others keep the core's."""
    ours = {"gba": GBA_BUTTONS, "gb": GB_BUTTONS}.get(rom.system)
    return ours or tuple(name.lower() for name in names if name)
