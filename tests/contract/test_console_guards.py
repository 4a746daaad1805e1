"""Consoles without the inner names of their emulators that they use: slower, and the same machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parcade.console import gameboy
from parcade.console.base import Console
from parcade.console.gameboy import GameBoy
from parcade.console.rom import Rom, builtin_rom, read_rom

ROMS = Path(__file__).parents[1] / "roms"
needs_mgba = pytest.mark.skipif(importlib.util.find_spec("mgba") is None, reason="mGBA is not installed")
needs_retro = pytest.mark.skipif(
    importlib.util.find_spec("stable_retro") is None, reason="stable-retro is not installed: pip install parcade[retro]"
)


def super_game_boy_rom() -> Rom:
    """Lantern with the header of a title that speaks to a Super Game Boy: mGBA draws a border around it."""
    data = bytearray(builtin_rom("lantern.gb").data)
    data[0x146], data[0x14B] = 0x03, 0x33
    data[0x14D] = (-sum(data[0x134:0x14D]) - (0x14D - 0x134)) & 0xFF
    return Rom(bytes(data), "super.gb")


def seen(console: Console) -> list[bytes]:
    """Pictures and states of some random play, drawn and not, with a load in the middle."""
    rng, found = np.random.default_rng(4), []
    out = np.empty((console.screen_shape[0] // 2, console.screen_shape[1] // 2), np.uint8)
    console.advance(0, 90)
    state = console.save()
    for turn in range(60):
        if turn == 30:
            console.load(state)
            found.append(console.screen()[..., :3].tobytes())
        console.advance(int(rng.integers(1 << len(console.buttons))), 1 + turn % 6, draw=turn % 3 != 2)
        console.luminance(out)
        found += [console.screen()[..., :3].tobytes(), out.tobytes()]
    found.append(console.save())
    console.close()
    return found


def without_fields(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    from parcade.console import gba

    real: Callable[[str, str], bool] = gba.has_field
    monkeypatch.setattr(gba, "has_field", lambda struct, name: name not in names and real(struct, name))


@needs_mgba
@pytest.mark.parametrize("names", [("frameskip",), ("frameskipCounter",), ("biosPrefetch",)], ids=lambda n: n[0])
def test_a_gba_console_without_a_field(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    from parcade.console.gba import GameBoyAdvance

    rom = builtin_rom("meadow.gba")
    expected = seen(GameBoyAdvance(rom))
    without_fields(monkeypatch, *names)
    assert seen(GameBoyAdvance(rom)) == expected


@needs_mgba
@pytest.mark.parametrize("rom", [builtin_rom("lantern.gb"), super_game_boy_rom()], ids=["plain", "super"])
@pytest.mark.parametrize("names", [("frameskip",), ("sgbBorders",), ("frameskip", "sgbBorders")], ids="-".join)
def test_a_game_boy_on_mgba_without_a_field(names: tuple[str, ...], rom: Rom, monkeypatch: pytest.MonkeyPatch) -> None:
    from parcade.console.gba import MgbaGameBoy

    expected = seen(MgbaGameBoy(rom))
    without_fields(monkeypatch, *names)
    found = seen(MgbaGameBoy(rom))
    assert found[:-1] == expected[:-1]
    if "sgbBorders" not in names:  # a state holds whether there is a border
        assert found[-1] == expected[-1]


@needs_mgba
def test_every_field_is_there_now() -> None:
    from parcade.console.gba import has_field

    for struct in ("struct GBAVideo", "struct GBVideo"):
        assert has_field(struct, "frameskip")
        assert has_field(struct, "frameskipCounter")
    assert has_field("struct GBAMemory", "biosPrefetch")
    assert has_field("struct GBVideo", "sgbBorders")
    assert not has_field("struct GBVideo", "frameSkip")


class Without:
    """A library that lacks some names."""

    def __init__(self, library: Any, *names: str) -> None:
        self._library, self._names = library, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            raise AttributeError(name)
        return getattr(self._library, name)


@needs_mgba
@pytest.mark.parametrize("name", ["mLogFilterInit", "mLogSetDefaultLogger"])
def test_mgba_without_a_log_that_can_be_silenced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from parcade.console import gba

    rom = read_rom(ROMS / "token.gba")
    expected = seen(gba.GameBoyAdvance(rom))
    monkeypatch.setattr(gba, "_silence", [])
    monkeypatch.setattr(gba, "lib", Without(gba.lib, name))
    assert seen(gba.GameBoyAdvance(rom)) == expected
    assert gba._silence == []


def test_pyboy_without_a_known_place_of_its_work_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = GameBoy(builtin_rom("lantern.gb"))
    monkeypatch.setattr(gameboy, "_layout_is_known", lambda: False)
    slow = GameBoy(builtin_rom("lantern.gb"))
    for console in (quick, slow):
        console.advance(0, 200)
    assert isinstance(quick.read(0xC000, 4), memoryview)
    assert isinstance(slow.read(0xC000, 4), bytes)
    assert bytes(quick.read(0xC000, 0x2000)) == slow.read(0xC000, 0x2000)
    quick.close()
    slow.close()


@needs_retro
@pytest.mark.parametrize("game", ["genesis", "gba"])
def test_libretro_without_a_way_to_read_single_bytes(game: str) -> None:
    from parcade.console.libretro import LibretroConsole, integrated_rom
    from parcade.errors import EnvError

    rom = integrated_rom("Airstriker-Genesis-v0") if game == "genesis" else read_rom(ROMS / "token.gba")
    console = LibretroConsole(rom)
    console.advance(0, 120)
    start = 0xFF0000 if game == "genesis" else 0x03000000
    ranges = [(start + at, length) for at, length in ((0, 200), (7, 33), (64, 1), (65, 2))]
    expected = [console.read(*one) for one in ranges]
    assert any(any(part) for part in expected)
    console._extract = console._assign = None
    assert [console.read(*one) for one in ranges] == expected
    with pytest.raises(EnvError, match="no way to write memory"):
        console.write(start, b"x")
    console.close()
