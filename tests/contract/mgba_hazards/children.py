"""One hazard of mGBA's bindings per function, each run in a process of its own: ``children.py NAME [ARGUMENT]``.

``bare_*`` uses the bindings as they come and shows the fault; ``ours_*`` does the same with parcade's console.
The last line of the output is JSON. A child that dies by a signal has shown what it was asked to show.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import os
import struct
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import mgba.core
import mgba.image
import mgba.log
import mgba.vfs
from mgba._pylib import ffi, lib

from parcade.console import gba
from parcade.console.gba import GameBoyAdvance, MgbaGameBoy
from parcade.console.rom import Rom, read_rom

ROMS = Path(__file__).parents[2] / "roms"
FLASH, TOKEN = ROMS / "flash.gba", ROMS / "token.gba"
TAG, CLOCK = 0x03000008, 0x03000010
POISON = 0x41
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]


def poison_heap() -> None:
    """Leave freed blocks full of 'A' of the callback struct's size, as any busy process does with other bytes."""
    size = ffi.sizeof("struct mCoreCallbacks")
    blocks = [libc.malloc(size) for _ in range(64)]
    for block in blocks:
        ctypes.memset(block, POISON, size)
    for block in blocks:
        libc.free(block)


def bare_core(path: Path, claim: bool = True) -> Any:
    """A core as the bindings make it, with its ROM and picture."""
    core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GBA))
    file = mgba.vfs.open_path(str(path), "r")
    assert core.load_rom(file)
    file._claimed = claim
    core.image = mgba.image.Image(240, 160)
    core.set_video_buffer(core.image)
    return core


def block(core: Any, number: int) -> Any:
    size = ffi.new("size_t *")
    return ffi.buffer(core._core.getMemoryBlock(core._core, number, size), size[0])


def clock_rom() -> Rom:
    """The flash cartridge under a game code for which mGBA plugs in a clock and 128 KiB of flash."""
    data = read_rom(FLASH).data
    return Rom(data[:0xAC] + b"BPEE" + data[0xB0:], "clock.gba")


# 1. callbacks


def bare_callback_pointers() -> dict[str, Any]:
    poison_heap()
    made = lib.mCorePythonCallbackCreate(ffi.NULL)
    names = ("shutdown", "savedataUpdated", "alarm")
    return {name: int(ffi.cast("uintptr_t", getattr(made, name))) for name in names}


class PoisonedCallbacks(mgba.core.CoreCallbacks):  # type: ignore[misc]
    def __init__(self) -> None:
        poison_heap()
        super().__init__()


def bare_callback_crash(clear: str = "") -> dict[str, Any]:
    mgba.log.silence()
    mgba.core.CoreCallbacks = PoisonedCallbacks
    cores = [bare_core(FLASH) for _ in range(2)]
    for core in cores:
        if clear:
            core._core.clearCoreCallbacks(core._core)
        core.load_save(mgba.vfs.VFile.fromEmpty())
        core.reset()
    for _ in range(60):
        for core in cores:
            core.run_frame()
    return {"alive": True}


def ours_callbacks() -> dict[str, Any]:
    poison_heap()
    consoles = [GameBoyAdvance(read_rom(FLASH)) for _ in range(2)]
    for _ in range(60):
        for console in consoles:
            console.advance(0, 1)
    lists = [lib.mCoreCallbacksListSize(ffi.addressof(console._machine.coreCallbacks)) for console in consoles]
    return {"alive": True, "callbacks": lists, "writes": [console.save_memory()[0] for console in consoles]}


# 2. the shared save file


def bare_shared_save(folder: str) -> dict[str, Any]:
    mgba.log.silence()
    path = Path(folder) / "game.gba"
    path.write_bytes(FLASH.read_bytes())
    cores = []
    for tag in b"AB":
        core = mgba.core.load_path(str(path))
        core._core.clearCoreCallbacks(core._core)
        core.image = mgba.image.Image(240, 160)
        core.set_video_buffer(core.image)
        core.autoload_save()
        core.reset()
        core.run_frame()
        block(core, 3)[8] = bytes([tag])
        cores.append(core)
    for core in cores:  # A plays first, B after it
        for _ in range(60):
            core.run_frame()
    flash = [bytes(ffi.buffer(core._native.memory.savedata.data, 8)) for core in cores]
    return {"tags": [chr(content[4]) for content in flash], "files": sorted(os.listdir(folder))}


def ours_private_save(folder: str) -> dict[str, Any]:
    path = Path(folder) / "game.gba"
    path.write_bytes(FLASH.read_bytes())
    consoles = [GameBoyAdvance(read_rom(path)) for _ in range(2)]
    for console, tag in zip(consoles, (b"A", b"B"), strict=True):
        console.write(TAG, tag)
    for console in consoles:
        console.advance(0, 60)
    tags = [chr(console.save_memory()[4]) for console in consoles]
    return {"tags": tags, "files": sorted(os.listdir(folder))}


# 3. the video buffer's life


def bare_video_buffer() -> dict[str, Any]:
    mgba.log.silence()
    core = bare_core(TOKEN)
    core.reset()
    del core.image
    gc.collect()
    others = [ffi.new("uint32_t[]", 240 * 160) for _ in range(8)]  # anything that takes the freed block
    for _ in range(10):
        core.run_frame()
    return {"overwritten": sum(any(other) for other in others)}


def ours_video_buffer() -> dict[str, Any]:
    console = GameBoyAdvance(read_rom(TOKEN))
    console.screen()
    gc.collect()
    others = [ffi.new("uint32_t[]", 240 * 160) for _ in range(8)]
    console.advance(0, 10)
    screen = console.screen()
    del console
    gc.collect()
    return {"overwritten": sum(any(other) for other in others), "drawn": bool(screen.any())}


# 4. who closes a VFile


def counting_close(file: Any, counts: list[int]) -> Any:
    """Replace the file's close by one that counts and frees nothing, so that closing twice is seen, not suffered."""

    @ffi.callback("_Bool(struct VFile *)")  # type: ignore[untyped-decorator]
    def close(_: Any) -> bool:
        counts[0] += 1
        return True

    file.close = close
    return close


def bare_vfile(claim: str = "") -> dict[str, Any]:
    mgba.log.silence()
    counts = [0]
    core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GBA))
    core._core.clearCoreCallbacks(core._core)
    file = mgba.vfs.open_path(str(FLASH), "r")
    keep = counting_close(file.handle, counts)
    core.load_rom(file)
    file._claimed = bool(claim) or file._claimed
    del file
    gc.collect()
    by_python = counts[0]
    core._core.unloadROM(core._core)
    return {"under the core": by_python, "in all": counts[0], "kept": keep is not None}


def ours_vfile() -> dict[str, Any]:
    counts, keep = [0], []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        def VFileFromFD(self, fd: int) -> Any:  # noqa: N802 (the library's name)
            file = lib.VFileFromFD(fd)
            keep.append(counting_close(file, counts))
            return file

    gba.lib = Counting()  # type: ignore[assignment]
    console = GameBoyAdvance(read_rom(FLASH))
    console.advance(0, 20)
    gc.collect()
    under = counts[0]
    console.close()
    gc.collect()
    return {"under the core": under, "in all": counts[0]}


def ours_file_descriptors() -> dict[str, Any]:
    rom = read_rom(FLASH)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        consoles = [GameBoyAdvance(rom) for _ in range(3)]
        for console in consoles:
            console.advance(0, 2)
            console.close()
        del consoles, console
    gc.collect()
    return {"left open": len(os.listdir("/proc/self/fd")) - before}


# 5. the logger


class CountingLogger(mgba.log.NullLogger):  # type: ignore[misc]
    lines = 0

    def log(self, category: Any, level: Any, message: Any) -> None:
        CountingLogger.lines += 1


def bare_logger_lines() -> dict[str, Any]:
    mgba.log.install_default(CountingLogger())
    core = bare_core(FLASH)
    core.reset()
    state = core.save_raw_state()
    before = CountingLogger.lines
    for _ in range(100):
        core.load_raw_state(state)
    return {"calls into Python": CountingLogger.lines - before}


def bare_logger_swap() -> dict[str, Any]:
    first = mgba.log.NullLogger()
    gone = weakref.ref(first)
    mgba.log.install_default(first)
    del first
    seen: list[bool] = []

    class Spy(mgba.log.NullLogger):  # type: ignore[misc]
        @property
        def _native(self) -> Any:  # read by install_default just before the library hears of the new logger
            gc.collect()  # which Python may do at any allocation
            seen.append(gone() is None)
            return self._kept

        @_native.setter
        def _native(self, value: Any) -> None:
            self._kept = value

    mgba.log.install_default(Spy())
    return {"freed while in use": seen[0]}


def ours_logger() -> dict[str, Any]:
    loggers = set()
    for _ in range(3):
        console = GameBoyAdvance(read_rom(FLASH))
        state = console.save()
        for _ in range(100):
            console.load(state)
        loggers.add(id(gba._silence[1]))
    return {"loggers": len(loggers), "python function": gba._silence[1].log != ffi.NULL}


# 6. the clock


def bare_clock() -> dict[str, Any]:
    mgba.log.silence()
    core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GBA))
    core._core.clearCoreCallbacks(core._core)
    data = bytearray(clock_rom().data)
    keep = ffi.from_buffer(data)
    assert core._core.loadROM(core._core, lib.VFileFromMemory(keep, len(data)))
    core.image = mgba.image.Image(240, 160)
    core.set_video_buffer(core.image)
    core.reset()
    early = time.localtime()
    for _ in range(20):
        core.run_frame()
    return {
        "clock": block(core, 3)[16:19].hex(),
        "host": [time.strftime("%y%m%d", t) for t in (early, time.localtime())],
    }


def ours_clock() -> dict[str, Any]:
    console, later = GameBoyAdvance(clock_rom()), GameBoyAdvance(clock_rom(), rtc_epoch_s=1_100_000_000)
    clocks = []
    for frames in (20, 600):
        console.advance(0, frames)
        clocks.append(console.read(CLOCK, 7).hex())
    later.advance(0, 20)
    return {"clocks": clocks, "later": later.read(CLOCK, 7).hex()}


# 7. leaks


def heap_bytes() -> int:
    class Info(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    libc.mallinfo2.restype = Info
    info = libc.mallinfo2()
    return int(info.field7 + info.field4)  # in use: from the heap, and mapped


def grown(make: Any, rounds: int) -> int:
    for _ in range(20):
        make()
    gc.collect()
    before = heap_bytes()
    for _ in range(rounds):
        make()
    gc.collect()
    return (heap_bytes() - before) // rounds


def bare_leak() -> dict[str, Any]:
    mgba.log.silence()

    def make() -> None:
        bare_core(TOKEN).reset()

    return {"bytes per core": grown(make, 200)}


def ours_leak() -> dict[str, Any]:
    rom = read_rom(TOKEN)

    def make() -> None:
        console = GameBoyAdvance(rom)
        console.advance(0, 1)
        console.close()

    console = GameBoyAdvance(rom)

    def again() -> None:
        console.reset()
        console.advance(0, 1)

    return {"bytes per core": grown(make, 200), "bytes per reset": grown(again, 200)}


# 8. the ROM's own bytes


def bare_rom_bytes() -> dict[str, Any]:
    mgba.log.silence()
    rom = clock_rom()
    before = hashlib.sha1(rom.data).hexdigest()
    core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GBA))
    core._core.clearCoreCallbacks(core._core)
    keep = ffi.from_buffer(rom.data)
    assert core._core.loadROM(core._core, lib.VFileFromConstMemory(keep, len(rom.data)))
    core.image = mgba.image.Image(240, 160)
    core.set_video_buffer(core.image)
    core.reset()
    for _ in range(20):
        core.run_frame()
    return {"changed": hashlib.sha1(rom.data).hexdigest() != before}


def ours_rom_bytes() -> dict[str, Any]:
    rom = clock_rom()
    before, other = rom.sha1, GameBoyAdvance(rom)
    console = GameBoyAdvance(rom)
    console.advance(0, 20)
    ports = [view.read(0x080000C4, 6).hex() for view in (console, other)]
    return {"changed": rom.sha1 != before, "ports": ports}


# 9. what a raw state leaves out


def bare_state() -> dict[str, Any]:
    mgba.log.silence()
    core = bare_core(FLASH)
    core._core.clearCoreCallbacks(core._core)
    core.reset()
    for _ in range(40):
        core.run_frame()
    size = core._core.stateSize(core._core)
    states = []
    for fill in (0x00, 0xAA):
        state = ffi.new("unsigned char[]", size)
        ffi.buffer(state)[:] = bytes([fill]) * size
        core._core.saveState(core._core, state)
        states.append(state)
    saved = bytes(ffi.buffer(core._native.memory.savedata.data, 4))
    fresh = bare_core(FLASH)
    fresh._core.clearCoreCallbacks(fresh._core)
    fresh.reset()
    fresh._core.loadState(fresh._core, states[0])
    loaded = bytes(ffi.buffer(fresh._native.memory.savedata.data, 4))
    return {"same bytes": bytes(states[0]) == bytes(states[1]), "flash": [saved.hex(), loaded.hex()]}


def ours_state() -> dict[str, Any]:
    rom = read_rom(FLASH)
    console, other = GameBoyAdvance(rom), GameBoyAdvance(rom)
    console.advance(0, 40)
    ffi.buffer(other._state)[:] = b"\xaa" * len(other._state)  # old bytes in the scratch buffer
    other.load(console.save())
    flash = [each.save_memory()[:4].hex() for each in (console, other)]
    return {"same bytes": console.save() == other.save(), "flash": flash}


# 10. Game Boy cartridges


def gb_bytes(super_game_boy: bool = False) -> bytes:
    data = bytearray((ROMS / "park.gb").read_bytes())
    if super_game_boy:
        data[0x146], data[0x14B] = 0x03, 0x33
    data[0x14D] = (-sum(data[0x134:0x14D]) - (0x14D - 0x134)) & 0xFF
    return bytes(data)


def bare_no_logo(folder: str) -> dict[str, Any]:
    mgba.log.silence()
    path = Path(folder) / "game.gb"
    path.write_bytes(gb_bytes())
    return {"found": mgba.core.load_path(str(path)) is not None}


def bare_super_game_boy() -> dict[str, Any]:
    mgba.log.silence()
    core = mgba.core.Core._init(lib.mCoreCreate(lib.mPLATFORM_GB))
    core._core.clearCoreCallbacks(core._core)
    data = gb_bytes(super_game_boy=True)
    keep = ffi.from_buffer(data)
    core._core.loadROM(core._core, lib.VFileFromConstMemory(keep, len(data)))
    core.reset()
    return {"size": core.desired_video_dimensions()}


def ours_game_boy() -> dict[str, Any]:
    sizes = []
    for super_game_boy in (False, True):
        console = MgbaGameBoy(Rom(gb_bytes(super_game_boy), "game.gb"))
        console.advance(0, 60)
        width, height = ffi.new("unsigned *"), ffi.new("unsigned *")
        console._core.desiredVideoDimensions(console._core, width, height)
        sizes.append([width[0], height[0]])
    return {"sizes": sizes}


# 11. many at once


def fingerprint(console: GameBoyAdvance) -> str:
    return hashlib.sha1(console.save() + console.screen().tobytes() + console.save_memory()).hexdigest()


def step(console: GameBoyAdvance, number: int, at: int) -> None:
    console.advance((at * 7 + number * 13) % 1024 if at % 3 else 1 << 4 + (at + number) % 4, 6)


def console_number(number: int) -> GameBoyAdvance:
    console = GameBoyAdvance(read_rom(FLASH if number % 4 == 3 else TOKEN))
    if number % 4 == 3:
        console.write(TAG, struct.pack("<I", number))
    return console


def ours_many(steps: str) -> dict[str, Any]:
    count, solo = int(steps), []
    for number in range(8):
        console = console_number(number)
        for at in range(count):
            step(console, number, at)
        solo.append(fingerprint(console))
        console.close()
    alternating = [console_number(number) for number in range(8)]
    for at in range(count):
        for number, console in enumerate(alternating):
            step(console, number, at)
    threaded = [console_number(number) for number in range(8)]

    def run(number: int) -> None:
        for at in range(count):
            step(threaded[number], number, at)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "frames": 3 * 8 * 6 * count,
        "different": len(set(solo)),
        "alternating": [fingerprint(console) for console in alternating] == solo,
        "threads": [fingerprint(console) for console in threaded] == solo,
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
