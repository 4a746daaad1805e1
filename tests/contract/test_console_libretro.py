"""The libretro console; the parts that need stable-retro are skipped where it is not installed."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parcade.console.base import AddressError, Console, button_mask
from parcade.console.libretro import LibretroConsole, integrated_rom
from parcade.console.rom import Rom, read_rom
from parcade.errors import EnvError, MissingExtraError, RomError, SaveStateError

ROMS = Path(__file__).parents[1] / "roms"
STATE = 0x03000000
needs_retro = pytest.mark.skipif(
    importlib.util.find_spec("stable_retro") is None, reason="stable-retro is not installed: pip install parcade[retro]"
)


@pytest.fixture
def libretro_gba_console() -> Iterator[LibretroConsole]:
    console = LibretroConsole(read_rom(ROMS / "token.gba"))
    yield console
    console.close()


@pytest.fixture
def libretro_genesis_console() -> Iterator[LibretroConsole]:
    console = LibretroConsole(integrated_rom("Airstriker-Genesis-v0"))
    yield console
    console.close()


def play(console: Console, steps: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for held in rng.integers(0, 1 << len(console.buttons), steps):
        console.advance(int(held), 6)


def test_without_stable_retro_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_retro", None)
    with pytest.raises(MissingExtraError, match=r"pip install parcade\[retro\]"):
        LibretroConsole(read_rom(ROMS / "token.gba"))


@needs_retro
def test_a_gba_game_plays(libretro_gba_console: LibretroConsole) -> None:
    console = libretro_gba_console
    assert isinstance(console, Console)
    assert console.buttons[:4] == ("a", "b", "select", "start")
    assert console.screen_shape == (160, 240, 3)
    console.advance(0, 10)
    before = console.read(STATE, 16)
    console.advance(button_mask(console.buttons, "right"), 6)
    after = console.read(STATE, 16)
    assert after[0] > before[0]
    assert after[12] == before[12] + 6
    assert after[14:] == b"TR"
    assert console.read(STATE, 100)[:16] == after


@needs_retro
def test_the_screen_is_live_and_kept_if_not_drawn(libretro_gba_console: LibretroConsole) -> None:
    screen = libretro_gba_console.screen()
    libretro_gba_console.advance(0, 30)
    drawn = screen.copy()
    libretro_gba_console.advance(button_mask(libretro_gba_console.buttons, "down"), 30, draw=False)
    assert np.array_equal(screen, drawn)
    libretro_gba_console.advance(0, 1)
    assert not np.array_equal(screen, drawn)


@needs_retro
@pytest.mark.parametrize("fixture", ["libretro_gba_console", "libretro_genesis_console"])
def test_a_loaded_console_goes_on_exactly(fixture: str, request: pytest.FixtureRequest) -> None:
    console: LibretroConsole = request.getfixturevalue(fixture)
    play(console, 20)
    saved, ends = console.save(), []
    for state in (saved, gzip.compress(saved)):
        console.load(state)
        play(console, 20, seed=1)
        ends.append((*console._copied().values(), console.screen().tobytes()))
    assert ends[0] == ends[1]


@needs_retro
def test_memory_is_written_and_checked(libretro_gba_console: LibretroConsole) -> None:
    libretro_gba_console.write(0x02001000, b"abcd")
    assert libretro_gba_console.read(0x02001000, 4) == b"abcd"
    rom = (ROMS / "token.gba").read_bytes()
    assert bytes(libretro_gba_console.read(0x080000A0, 12)) == rom[0xA0:0xAC]
    beyond = 0x08000000 + len(rom) - 1
    for address, length in ((0, 1), (0x03007FFF, 2), (-1, 1), (STATE, -1), (beyond, 2), (0x08000000, -1)):
        with pytest.raises(AddressError, match="outside"):
            libretro_gba_console.read(address, length)
    with pytest.raises(AddressError, match="outside"):
        libretro_gba_console.write(0x08000000, b"x")


@needs_retro
def test_genesis_memory_is_in_the_cpus_order(libretro_genesis_console: LibretroConsole) -> None:
    libretro_genesis_console.write(0xFF1000, bytes(range(100)))
    assert libretro_genesis_console.read(0xFF1000, 100) == bytes(range(100))
    assert libretro_genesis_console.read(0xFF1003, 1) == b"\x03"


@needs_retro
@pytest.mark.parametrize("state", [b"", b"x" * 100, b"x" * 397_312, b"\x1f\x8bxx"])
def test_damaged_states_are_told_in_one_sentence(libretro_gba_console: LibretroConsole, state: bytes) -> None:
    with pytest.raises(SaveStateError) as caught:
        libretro_gba_console.load(state)
    assert "\n" not in str(caught.value)


@needs_retro
def test_a_second_console_in_the_process_is_refused(libretro_gba_console: LibretroConsole) -> None:
    with pytest.raises(EnvError, match=r"one console per process and token\.gba is open"):
        LibretroConsole(read_rom(ROMS / "park.gba"))
    libretro_gba_console.close()
    libretro_gba_console.close()
    with pytest.raises(ValueError, match="closed"):
        libretro_gba_console.advance(0, 1)
    LibretroConsole(read_rom(ROMS / "park.gba")).close()


@needs_retro
def test_unknown_roms_are_refused() -> None:
    with pytest.raises(RomError, match="no libretro core plays notes"):
        LibretroConsole(Rom(bytes(0x200), "notes.txt"))
    with pytest.raises(RomError, match="no ROM of 'Nothing-Nes'"):
        integrated_rom("Nothing-Nes")
