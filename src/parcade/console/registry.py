"""Which consoles there are: each by its name, the systems it plays and whether it is installed.

An entry holds functions that import the console's file when they are called, because that file imports its emulator:
asking which console plays a game loads no emulator that is not needed for the answer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from parcade.console.base import Console
from parcade.console.cartridge import check_cartridge
from parcade.console.rom import Rom
from parcade.errors import RomError, SettingsError, did_you_mean

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ConsoleKind:
    """An emulator as the rest of the house knows it.

    ``systems`` of None plays any system. Of those that play a system and are here, ``auto`` takes the one with the
    lowest ``priority``; if none is here the first one is opened, and its error says what to install.
    """

    name: str
    systems: tuple[str, ...] | None
    priority: int
    is_here: Callable[[], bool]
    open: Callable[[Rom, str], Console]  # of a ROM and its system
    one_per_process: bool = False
    check: Callable[[Rom], None] = lambda rom: None  # raises RomError for a ROM it cannot play, without starting it

    def plays(self, system: str) -> bool:
        """Whether games of ``system`` run on it."""
        return self.systems is None or system in self.systems


_kinds: dict[str, ConsoleKind] = {}


def register(kind: ConsoleKind) -> None:
    """Make a console known by its name; a name is taken once."""
    if kind.name == AUTO or _kinds.get(kind.name, kind) is not kind:
        raise SettingsError(f"the console name {kind.name!r} is taken; register yours under another name")
    _kinds[kind.name] = kind


def console_names() -> tuple[str, ...]:
    """Return all that may be asked for, ``auto`` first."""
    return AUTO, *(kind.name for kind in _by_priority())


def console_for(system: str, wanted: str = AUTO) -> ConsoleKind:
    """Return which console plays games of ``system``; ``wanted`` may name one."""
    if wanted not in console_names():
        hint = did_you_mean(wanted, console_names())
        raise SettingsError(f"console {wanted!r} is not known{hint}; use {', '.join(console_names())}")
    fitting = [kind for kind in _by_priority() if kind.plays(system)]
    if wanted == AUTO:
        return next((kind for kind in fitting if kind.is_here()), fitting[0])
    if _kinds[wanted] not in fitting:
        raise SettingsError(f"{wanted} does not play {system} games; use {' or '.join(k.name for k in fitting)}")
    return _kinds[wanted]


def missing_for(system: str, wanted: str = AUTO) -> str | None:
    """Return the console that ``auto`` would take for games of ``system`` if it were installed; None: it takes that."""
    taken = console_for(system, wanted)
    first = next(kind for kind in _by_priority() if kind.plays(system))
    return first.name if wanted == AUTO and first is not taken else None


def open_console(rom: Rom, wanted: str = AUTO, system: str | None = None) -> Console:
    """Return a console with ``rom`` inside; ``system`` names the machine where the ROM's header does not tell it."""
    kind, system = _kind_of(rom, wanted, system)
    return kind.open(rom, system)


def check_playable(rom: Rom, wanted: str = AUTO, system: str | None = None) -> None:
    """Raise what ``open_console`` would raise for a ROM that cannot be played, as far as its header tells."""
    kind, _ = _kind_of(rom, wanted, system)
    kind.check(rom)


def _kind_of(rom: Rom, wanted: str, system: str | None) -> tuple[ConsoleKind, str]:
    system = rom.system or system
    if not system:
        raise RomError(f"{rom.name} is neither a Game Boy nor a Game Boy Advance ROM")
    return console_for(system, wanted), system


def _by_priority() -> list[ConsoleKind]:
    return sorted(_kinds.values(), key=lambda kind: kind.priority)


def _has_pyboy() -> bool:
    return importlib.util.find_spec("pyboy") is not None


def _open_pyboy(rom: Rom, system: str) -> Console:
    from parcade.console.gameboy import GameBoy

    return GameBoy(rom)


def _has_mgba() -> bool:
    from parcade.console import gba

    return gba.has_mgba()


def _open_mgba(rom: Rom, system: str) -> Console:
    from parcade.console.gba import GameBoyAdvance, MgbaGameBoy

    return GameBoyAdvance(rom) if system == "gba" else MgbaGameBoy(rom)


def _has_stable_retro() -> bool:
    return importlib.util.find_spec("stable_retro") is not None


def _open_libretro(rom: Rom, system: str) -> Console:
    from parcade.console.libretro import LibretroConsole

    return LibretroConsole(rom)


register(ConsoleKind("pyboy", ("gb",), 10, _has_pyboy, _open_pyboy, check=check_cartridge))
register(ConsoleKind("mgba", ("gb", "gba"), 20, _has_mgba, _open_mgba))
register(ConsoleKind("libretro", None, 30, _has_stable_retro, _open_libretro, one_per_process=True))
