"""A console in a process of its own: an emulator that spins, raises or crashes can be ended and is told in words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from parcade.console.base import Console, Screen
from parcade.console.picture import ScreenPictures
from parcade.console.registry import open_console
from parcade.console.rom import Rom, what_is_cut
from parcade.host.hosted import Hosted

log = logging.getLogger("parcade.console")
DEADLINE_S = 20.0  # of one call, which takes a moment; longer on a busy machine


class HostedConsole(ScreenPictures):
    """A console as any other; each call goes to another process and back, in about a tenth of a millisecond.

    What the console raises on purpose is raised here; that it hangs or dies is a RunError. ``modules`` are imported
    over there first: they may register the console.
    """

    def __init__(self, rom: Rom, wanted: str = "auto", system: str | None = None, modules: Sequence[str] = ()) -> None:
        if cut := what_is_cut(rom):
            log.warning("%s", cut)
        name = f"the console with {rom.name}"
        self._hosted = Hosted(name, _Server, rom, wanted, system, tuple(modules), deadline_s=DEADLINE_S)
        self._hosted.on_silence = self._say_silence
        self.buttons, self.screen_shape, has_banks = self._hosted.call("facts")
        if has_banks:
            self.read_bank = self._read_bank

    def _say_silence(self, silent_s: float, place: str) -> None:
        log.warning("%s does not answer since %.0f s; after %g s it is ended", self._hosted.name, silent_s, DEADLINE_S)

    def while_waiting(self, look: Callable[[], None]) -> None:
        """Have ``look`` called now and then while the console is silent; what it raises ends the wait."""
        self._hosted.while_waiting = look

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        """Hold the mask for ``frames`` frames."""
        self._hosted.call("advance", held, frames, draw)

    def screen(self) -> Screen:
        """Return a copy of the last drawn frame."""
        picture = np.frombuffer(self._hosted.call("screen"), np.uint8)
        return picture.reshape(self.screen_shape)

    def read(self, address: int, length: int) -> bytes:
        """Return a copy of memory."""
        found: bytes = self._hosted.call("read", address, length)
        return found

    def _read_bank(self, bank: int, address: int, length: int) -> bytes:
        found: bytes = self._hosted.call("read_bank", bank, address, length)
        return found

    def write(self, address: int, data: bytes) -> None:
        """Write memory."""
        self._hosted.call("write", address, bytes(data))

    def save(self) -> bytes:
        """Return the whole machine as bytes."""
        found: bytes = self._hosted.call("save")
        return found

    def load(self, save_state: bytes) -> None:
        """Put the machine back."""
        self._hosted.call("load", save_state)

    def close(self) -> None:
        """End the process, whatever it does; twice is fine."""
        self._hosted.close()


class _Server:
    """The console over there; what it returns can be sent."""

    def __init__(
        self, tell: Callable[[str], None], rom: Rom, wanted: str, system: str | None, modules: tuple[str, ...]
    ) -> None:
        for module in modules:
            import_module(module)
        self._console: Console = open_console(rom, wanted, system)
        self.advance, self.write = self._console.advance, self._console.write
        self.save, self.load = self._console.save, self._console.load
        self.read_bank = getattr(self._console, "read_bank", None)

    def facts(self) -> Any:
        return self._console.buttons, self._console.screen_shape, self.read_bank is not None

    def screen(self) -> bytes:
        return self._console.screen().tobytes()

    def read(self, address: int, length: int) -> bytes:
        return bytes(self._console.read(address, length))
