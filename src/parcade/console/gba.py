"""Game Boy Advance (and Game Boy) through mGBA, with a guard for each hazard of its bindings; see docs/mgba.md.

Straight on the library: the bindings' own ``Core`` class registers callbacks whose pointers it never sets.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from functools import cache, partial
from typing import Any

import numpy as np

from parcade.console.base import AddressError, Screen, check_frames, check_range
from parcade.console.mgba_state import save_memory_block, unpack
from parcade.console.picture import ScreenPictures
from parcade.console.rom import Rom
from parcade.errors import MissingExtraError, RomError, SaveStateError

try:
    from mgba._pylib import ffi, lib
except ImportError as error:  # no wheel for this Python, or libmgba is not on the machine
    ffi = lib = None
    _missing = str(error)

GBA_BUTTONS = ("a", "b", "select", "start", "right", "left", "up", "down", "r", "l")  # bits of KEYINPUT
GB_BUTTONS = ("right", "left", "up", "down", "a", "b", "select", "start")  # as in parcade.console.gameboy
RTC_EPOCH_S = 1_000_000_000  # what a cartridge clock shows at power-on: 2001-09-09 01:46:40
_NO_FRAME = 1 << 30  # a frameskip never reached: nothing is drawn
_EMPTY_SAVE = b"\xff"
_REGIONS = {2: 0x02000000, 3: 0x03000000, 5: 0x05000000, 6: 0x06000000, 7: 0x07000000, 8: 0x08000000}
_ROM, _ROM_UPPER = 8, 9  # a ROM beyond 16 MiB goes on at 0x09000000
_RAM = (2, 3)  # work RAM: written in place; palette, VRAM and OAM are written through mGBA, which redraws
_GB_WORK_RAM = 12
_LARGEST_SAVE = 132 * 1024  # 128 KiB of flash, with room for the headers before it
_BIOS_PREFETCH = 0x2F4  # in a raw GBA state; mGBA restores it only if it is not zero
_lock = threading.Lock()
_silence: list[Any] = []  # the process's one logger and its filter, kept alive for ever
_cartridges: weakref.WeakValueDictionary[str, _Cartridge] = weakref.WeakValueDictionary()


def has_mgba() -> bool:
    """Whether the bindings and libmgba could be loaded."""
    return lib is not None


class _Cartridge:
    """A ROM as an unlinked file: every core maps it privately, the pages are shared until written.

    mGBA writes a cartridge's clock port into the ROM's own memory, so cores must not share plain bytes.
    """

    def __init__(self, data: bytes) -> None:
        with open(os.memfd_create("rom"), "wb") if hasattr(os, "memfd_create") else tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            self.fd = os.dup(file.fileno())
        self.power_on = b""

    def __del__(self) -> None:
        os.close(self.fd)


def _cartridge(rom: Rom) -> _Cartridge:
    sha1 = rom.sha1
    with _lock:
        cartridge = _cartridges.get(sha1)
        if cartridge is None:
            cartridge = _cartridges[sha1] = _Cartridge(rom.data)
        return cartridge


def _silence_log() -> None:
    """Install, once per process, a logger whose filter passes no level: no line reaches Python."""
    with _lock:
        if not _silence and hasattr(lib, "mLogFilterInit") and hasattr(lib, "mLogSetDefaultLogger"):
            log_filter = ffi.new("struct mLogFilter *")
            lib.mLogFilterInit(log_filter)
            logger = ffi.new("struct mLogger *", {"filter": log_filter})
            _silence.extend((log_filter, logger))
            lib.mLogSetDefaultLogger(logger)


@cache
def has_field(struct: str, name: str) -> bool:
    """Whether the bindings know a field of one of mGBA's inner structs; each has a slower way without it."""
    return name in {field for field, _ in ffi.typeof(struct).fields}


def _free(core: Any) -> None:
    lib.mCoreConfigDeinit(ffi.addressof(core.config))
    core.deinit(core)


class _MgbaConsole(ScreenPictures):
    """What both machines share; a subclass names its platform and its memory."""

    buttons: tuple[str, ...]
    screen_shape: tuple[int, int, int]
    _platform: str
    _board: str
    _video_struct: str
    _unwritten: int  # bytes at the start of a raw state in which mGBA leaves gaps

    def __init__(self, rom: Rom, rtc_epoch_s: int = RTC_EPOCH_S) -> None:
        if lib is None:
            raise MissingExtraError(
                f"mGBA cannot be loaded ({_missing}); on Debian: apt install libmgba0.10 and pip install mgba==0.10.2 "
                "(CPython 3.10 or 3.11 on Linux x86_64), elsewhere: pip install parcade[retro]"
            )
        _silence_log()
        self._cartridge = _cartridge(rom)
        core = lib.mCoreCreate(getattr(lib, self._platform))
        if core == ffi.NULL or not core.init(core):
            raise RomError(f"{rom.name}: libmgba was built without this console")
        lib.mCoreInitConfig(core, ffi.NULL)
        self._core: Any = ffi.gc(core, _free)
        # Once loaded, the core owns the file and closes it; no Python VFile object that would close it again.
        file = lib.VFileFromFD(os.dup(self._cartridge.fd))
        if not core.loadROM(core, file):
            file.close(file)
            raise RomError(f"{rom.name}: mGBA refuses this ROM")
        # No save file is ever attached: the core then keeps the save memory in private anonymous memory.
        core.rtc.override = lib.RTC_FAKE_EPOCH  # start + emulated frames; never the host's clock
        core.rtc.value = 1000 * _as_local(rtc_epoch_s)
        height, width = self._buffer_size()
        self._video_buffer: Any = ffi.new("uint32_t[]", height * width)  # the core keeps a bare pointer to it
        core.setVideoBuffer(core, self._video_buffer, width)
        self._machine: Any = ffi.cast(self._board, core.board)
        self._before_reset(self._machine)
        core.reset(core)  # the only reset: it moves the work RAM, and views of it would dangle
        buffer: Screen = np.frombuffer(ffi.buffer(self._video_buffer), np.uint8).reshape(height, width, 4)
        self._drawn = self._shown_part(buffer)
        self._skips = has_field(self._video_struct, "frameskip") and has_field(self._video_struct, "frameskipCounter")
        self._pixels: Screen = self._drawn if self._skips else np.empty(self.screen_shape, np.uint8)
        self._screen: Screen = self._pixels.view()
        self._screen.flags.writeable = False  # mGBA does not redraw lines it thinks unchanged
        self._video: Any = ffi.addressof(self._machine.video)
        self._run_frame, self._set_keys = core.runFrame, core.setKeys
        self._raw_size: int = core.stateSize(core)
        self._state: Any = ffi.new("unsigned char[]", self._raw_size + _LARGEST_SAVE)
        self._zeros = bytes(min(self._unwritten, self._raw_size))
        self._pixels.fill(0)
        self._views = self._map_memory()
        if not self._cartridge.power_on:
            self._cartridge.power_on = self.save()

    def _before_reset(self, board: Any) -> None:
        """Set what the first reset must know."""

    def _buffer_size(self) -> tuple[int, int]:
        """Return height and width of what mGBA draws into."""
        return self.screen_shape[:2]

    def _shown_part(self, buffer: Screen) -> Screen:
        """Return the part of the buffer that is the screen."""
        return buffer

    def _after_load(self, raw: memoryview) -> None:
        """Bring back what mGBA's ``loadState`` leaves out."""

    def _map_memory(self) -> dict[int, memoryview]:
        """Return the memory blocks ``read`` and ``write`` reach in place."""
        raise NotImplementedError

    def _block(self, block: int) -> memoryview:
        """Return a memory block in place; the core lives at least as long as the view."""
        size = ffi.new("size_t *")
        pointer = self._core.getMemoryBlock(self._core, block, size)
        return memoryview(ffi.buffer(ffi.gc(pointer, partial(_keep_until_now, self._core)), size[0]))

    def _keys(self, held: int) -> int:
        return held

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        """Hold the mask for ``frames`` frames; only the last is drawn, if any."""
        check_frames(frames)
        core, video, run_frame = self._opened(), self._video, self._run_frame
        if self._skips:
            video.frameskip = video.frameskipCounter = frames - 1 if draw else _NO_FRAME
        self._set_keys(core, self._keys(held))  # every time: a loaded state leaves the keys as they were
        for _ in range(frames):
            run_frame(core)
        if draw and not self._skips:  # all were drawn, the last one is shown
            self._pixels[...] = self._drawn

    def screen(self) -> Screen:
        """Live view, red green blue and a byte without meaning; black until a frame is drawn, after ``load`` too."""
        return self._screen

    def save(self) -> bytes:
        """Return mGBA's raw state, followed by the save memory if the game has written any.

        The same inputs from the same state give the same bytes. They hold the machine's clock, so an episode that
        begins without a load, as a game that restarts itself does, gives others.
        """
        core, file, size = self._opened(), ffi.buffer(self._state), self._raw_size
        file[: len(self._zeros)] = self._zeros
        core.saveState(core, self._state)
        save_memory = self.save_memory()
        if save_memory != _EMPTY_SAVE * len(save_memory):
            block = save_memory_block(size, save_memory)
            file[size : size + len(block)] = block
            size += len(block)
        return bytes(file[:size])

    def load(self, save_state: bytes) -> None:
        """Take what ``save`` returned, or a state file (plain or PNG) written by mGBA 0.10 itself."""
        core = self._opened()
        raw, save_memory = unpack(save_state, self._raw_size)
        if not core.loadState(core, ffi.from_buffer(raw)):
            raise SaveStateError(
                f"mGBA refuses the save state ({len(save_state)} bytes): it is damaged or of another game; "
                "make one with the same ROM and mGBA 0.10"
            )
        self._after_load(raw)
        size = len(self.save_memory())
        if size:
            filled = save_memory[:size].ljust(size, _EMPTY_SAVE)
            core.savedataRestore(core, filled, size, True)
        self._pixels.fill(0)  # not the picture of another episode

    def reset(self) -> None:
        """Power on again, with empty save memory; the core and all views stay."""
        self.load(self._cartridge.power_on)

    def save_memory(self) -> bytes:
        """Return the cartridge's flash, EEPROM or battery RAM; empty as long as the game has not touched it."""
        core, pointer = self._opened(), ffi.new("void **")
        size = core.savedataClone(core, pointer)
        if not size or pointer[0] == ffi.NULL:
            return b""
        try:
            return bytes(ffi.buffer(pointer[0], size))
        finally:
            lib.free(pointer[0])

    def close(self) -> None:
        """Let the core go (at once, or with the last view of its memory); twice is fine."""
        self._core = None
        self._views = {}

    def _opened(self) -> Any:
        if self._core is None:
            raise ValueError("the console is closed")
        return self._core


def _keep_until_now(core: Any, pointer: Any) -> None:
    """Destructor of a block's pointer: all it does is hold the core until the last view is gone."""


def _as_local(epoch_s: int) -> int:
    """Return the time at which a local clock shows what a UTC clock shows at ``epoch_s``: mGBA asks localtime."""
    return int(time.mktime((*time.gmtime(epoch_s)[:8], -1)))


class GameBoyAdvance(_MgbaConsole):
    """A Game Boy Advance with a cartridge inside; see ``Console`` for the contract."""

    buttons: tuple[str, ...] = GBA_BUTTONS
    screen_shape: tuple[int, int, int] = (160, 240, 4)
    _platform, _board, _video_struct, _unwritten = "mPLATFORM_GBA", "struct GBA *", "struct GBAVideo", 0x800

    def __init__(self, rom: Rom, rtc_epoch_s: int = RTC_EPOCH_S) -> None:
        if rom.system != "gba":
            raise RomError(f"{rom.name} is no Game Boy Advance ROM (byte 0xB2 is not 0x96); give a .gba file")
        super().__init__(rom, rtc_epoch_s)

    def _after_load(self, raw: memoryview) -> None:
        if not has_field("struct GBAMemory", "biosPrefetch"):
            return  # mGBA itself restores it unless it is zero
        self._machine.memory.biosPrefetch = int.from_bytes(raw[_BIOS_PREFETCH : _BIOS_PREFETCH + 4], "little")

    def _map_memory(self) -> dict[int, memoryview]:
        views = {block: self._block(block) for block in _REGIONS}
        return {**views, _ROM_UPPER: views[_ROM][1 << 24 :]}

    def read(self, address: int, length: int) -> memoryview:
        """Return EWRAM, IWRAM, palette, VRAM, OAM or ROM in place; the view shows later changes too."""
        self._opened()
        view, offset = self._views.get(address >> 24), address & 0xFFFFFF
        if view is None or length < 0 or offset + length > len(view):
            raise AddressError(f"gba: {length} bytes at {address:#x} lie outside the console's memory")
        return view[offset : offset + length].toreadonly()

    def write(self, address: int, data: bytes) -> None:
        """Write RAM, palette, VRAM or OAM; the ROM is refused."""
        core, block, offset = self._opened(), address >> 24, address & 0xFFFFFF
        view = self._views.get(block) if block not in (_ROM, _ROM_UPPER) else None
        if view is None or offset + len(data) > len(view):
            raise AddressError(f"gba: {len(data)} bytes at {address:#x} lie outside the console's writable memory")
        if block in _RAM:
            view[offset : offset + len(data)] = data
            return
        start, end = offset & ~1, (offset + len(data) + 1) & ~1  # video memory takes halfwords only
        halves = bytearray(view[start:end])
        halves[offset - start : offset - start + len(data)] = data
        for at in range(0, end - start, 2):
            core.rawWrite16(core, _REGIONS[block] + start + at, -1, halves[at] | halves[at + 1] << 8)


class MgbaGameBoy(_MgbaConsole):
    """A Game Boy on mGBA's core: slower than PyBoy, but its states take microseconds. Buttons as ``GameBoy``."""

    buttons: tuple[str, ...] = GB_BUTTONS
    screen_shape: tuple[int, int, int] = (144, 160, 4)
    _platform, _board, _video_struct, _unwritten = "mPLATFORM_GB", "struct GB *", "struct GBVideo", 1 << 20

    def __init__(self, rom: Rom, rtc_epoch_s: int = RTC_EPOCH_S) -> None:
        if rom.system != "gb":
            raise RomError(f"{rom.name} is no Game Boy ROM (its header checksum is wrong); give a .gb or .gbc file")
        super().__init__(rom, rtc_epoch_s)

    def _before_reset(self, board: Any) -> None:
        if has_field("struct GBVideo", "sgbBorders"):
            board.video.sgbBorders = False  # a Super Game Boy title would draw 256x224 into our 160x144 buffer

    def _buffer_size(self) -> tuple[int, int]:
        return super()._buffer_size() if has_field("struct GBVideo", "sgbBorders") else (224, 256)

    def _shown_part(self, buffer: Screen) -> Screen:
        if buffer.shape == self.screen_shape:
            return buffer
        width, height = ffi.new("unsigned *"), ffi.new("unsigned *")
        self._core.desiredVideoDimensions(self._core, width, height)
        top, left = (40, 48) if width[0] == 256 else (0, 0)  # within the border, if there is one
        return buffer[top : top + 144, left : left + 160]

    def _keys(self, held: int) -> int:
        return (held & 0x0F) << 4 | held >> 4 & 0x0F

    def _map_memory(self) -> dict[int, memoryview]:
        return {_GB_WORK_RAM: self._block(_GB_WORK_RAM)[:0x1000]}  # the first bank, the only one never switched

    def read(self, address: int, length: int) -> bytes | memoryview:
        """Return memory as the CPU sees it; in place for 0xC000-0xCFFF."""
        core = self._opened()
        if address >= 0xC000 and length >= 0 and address + length <= 0xD000:
            return self._views[_GB_WORK_RAM][address - 0xC000 : address - 0xC000 + length].toreadonly()
        check_range(address, length, ((0x0000, 0x10000),), "mgba gameboy")
        return bytes(core.rawRead8(core, at, -1) for at in range(address, address + length))

    def write(self, address: int, data: bytes) -> None:
        """Write RAM or registers; the ROM area is refused (a write there would switch banks)."""
        core = self._opened()
        check_range(address, len(data), ((0x8000, 0x10000),), "mgba gameboy")
        for at, byte in enumerate(data, address):
            core.busWrite8(core, at, byte)
