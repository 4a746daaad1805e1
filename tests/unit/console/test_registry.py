"""Consoles by name and by what they play; a console of the user's own is one more entry."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from parcade.console import registry
from parcade.console.base import Console, Screen
from parcade.console.picture import ScreenPictures
from parcade.console.registry import (
    ConsoleKind,
    console_for,
    console_names,
    open_console,
    register,
)
from parcade.console.rom import Rom, builtin_rom
from parcade.errors import RomError, SettingsError

TOY_ROM = Rom(bytes(0x150), "dice.toy")


class Toy(ScreenPictures):
    """A machine of one button that counts how long it was held."""

    buttons = ("a",)
    screen_shape = (4, 6, 3)

    def __init__(self, rom: Rom) -> None:
        self.count = 0

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        self.count += frames * (held & 1)

    def screen(self) -> Screen:
        return np.full(self.screen_shape, self.count, np.uint8)

    def read(self, address: int, length: int) -> bytes:
        return bytes([self.count])

    def write(self, address: int, data: bytes) -> None:
        (self.count,) = data

    def save(self) -> bytes:
        return bytes([self.count])

    def load(self, save_state: bytes) -> None:
        (self.count,) = save_state

    def close(self) -> None:
        pass


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> ConsoleKind:
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    kind = ConsoleKind("toy", ("toy", "gb"), 15, lambda: True, lambda rom, system: Toy(rom))
    register(kind)
    return kind


def test_a_console_of_your_own_is_opened_by_name(toy: ConsoleKind) -> None:
    console = open_console(TOY_ROM, "toy", "toy")
    assert isinstance(console, Toy)
    assert isinstance(console, Console)
    console.advance(1, 7)
    out = np.empty((2, 3), np.uint8)
    console.luminance(out)
    assert out.tolist() == [[7] * 3] * 2
    assert isinstance(open_console(builtin_rom("lantern.gb"), "toy"), Toy)


def test_auto_takes_the_first_that_is_here(toy: ConsoleKind) -> None:
    assert console_names() == ("auto", "pyboy", "toy", "mgba", "libretro")
    assert console_for("toy").name == "toy"
    assert console_for("gb").name == "pyboy"
    del registry._kinds["toy"]
    register(ConsoleKind("toy", ("gb",), 1, lambda: False, toy.open))
    assert console_for("gb").name == "pyboy"


def test_a_name_is_taken_once(toy: ConsoleKind) -> None:
    register(toy)  # the same again: a module imported under two names
    for name in ("toy", "pyboy", "auto"):
        with pytest.raises(SettingsError, match="is taken"):
            register(ConsoleKind(name, ("toy",), 1, lambda: True, toy.open))


def test_what_nobody_plays_is_told() -> None:
    with pytest.raises(SettingsError, match="console 'toy' is not known"):
        open_console(builtin_rom("lantern.gb"), "toy")
    with pytest.raises(RomError, match=r"dice\.toy is neither"):
        open_console(TOY_ROM)


def test_asking_for_a_game_boy_loads_no_emulator() -> None:
    code = (
        "import sys; from parcade.console.registry import console_for; print(console_for('gb').name, "
        "[m for m in ('pyboy', 'mgba', 'stable_retro', 'cv2') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "pyboy []"
