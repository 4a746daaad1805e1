"""The contract every console keeps, and the checks they share."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from parcade.errors import ParcadeError

Screen = npt.NDArray[np.uint8]  # (height, width, channels)


class AddressError(ParcadeError, IndexError):
    """An address range lies outside what the console can read or write."""


class Memory(Protocol):
    """What a game may see of a console: its memory, read by address."""

    def read(self, address: int, length: int) -> bytes | memoryview:
        """Return ``length`` bytes from ``address``; the range is checked."""
        ...


@runtime_checkable
class Console(Memory, Protocol):
    """One emulated machine with a ROM inside.

    ``buttons[i]`` is the name of bit ``i`` of a held mask. ``screen_shape`` is (height, width, channels). ``luminance``
    and ``colour`` come with ``parcade.console.picture.ScreenPictures``.
    """

    buttons: tuple[str, ...]
    screen_shape: tuple[int, int, int]

    def advance(self, held: int, frames: int, draw: bool = True) -> None:
        """Hold the buttons of ``held`` for ``frames`` >= 1 frames; only the last frame is drawn, if any."""
        ...

    def screen(self) -> Screen:
        """Return a live view of the last drawn frame: red, green, blue and perhaps a byte without meaning."""
        ...

    def luminance(self, out: Screen) -> None:
        """Write the grey picture of the last drawn frame into ``out``: (height, width), or half of both, rounded up."""
        ...

    def colour(self, out: Screen) -> None:
        """Write the last drawn frame into ``out``: (3, height, width), or half of the last two, rounded up."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` at ``address``; the range is checked."""
        ...

    def save(self) -> bytes:
        """Return the whole machine as bytes."""
        ...

    def load(self, save_state: bytes) -> None:
        """Put the machine back to what ``save`` returned."""
        ...

    def close(self) -> None:
        """Free the machine; a second call does nothing."""
        ...


def button_mask(buttons: tuple[str, ...], *names: str) -> int:
    """Return the mask that holds the named buttons.

    >>> button_mask(("a", "b", "up"), "a", "up")
    5
    """
    return sum(1 << buttons.index(name) for name in names)


def check_range(address: int, length: int, ranges: tuple[tuple[int, int], ...], name: str) -> None:
    """Raise AddressError unless [address, address + length) lies inside one of the half-open ``ranges``."""
    for start, end in ranges:
        if start <= address and address + length <= end and length >= 0:
            return
    raise AddressError(f"{name}: {length} bytes at {address:#x} lie outside the console's memory")


def check_frames(frames: int) -> None:
    """Refuse frame counts an emulator would never return from."""
    if frames < 1:
        raise ValueError(f"frames is {frames}, wanted 1 or more")
