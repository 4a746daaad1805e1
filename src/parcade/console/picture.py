"""What a console shows as pictures for a policy: grey or colour, in full or half size, exact to the bit.

Half size is the mean of 2 x 2 pixels, (a + b + c + d + 2) >> 2 for each channel; a last odd line or column is averaged
with itself. Grey is the luminance of Rec. 601, (9798 red + 19235 green + 3735 blue + 16384) >> 15, which leaves a grey
pixel as it is. Half-size grey is the luminance of the half-size colour. OpenCV counts the same way and is compared once
a process; where it does not, NumPy does the work.

Microseconds for one picture, least of 40 x 300 calls on one core of a shared 2-core EPYC, OpenCV 5.0, 17 November 2026:

==================================================  =============  =============  ===================
..                                                  Game Boy       GBA            Mega Drive (RGB)
                                                    144 x 160      160 x 240      224 x 320
==================================================  =============  =============  ===================
half grey: resize, then cvtColor (taken)            8.1            12.1           22.7
half grey: cvtColor, then resize                    9.1            15.0           23.1
half grey: one channel, then resize (grey only)     7.8            11.6           19.9
half grey: NumPy                                    69             109            195
half colour: resize, then a NumPy copy (taken)      10.7           16.4           33.1
half colour: resize, then mixChannels               10.5           15.5           30.9
full grey: cvtColor (taken)                         7.0            12.3           18.8
full grey: cv2.transform                            56             93             110
every second red pixel (what was done before)       2.3            3.4            5.8
==================================================  =============  =============  ===================

Called through a console on real frames: half grey 9.4, 18 and 35, half colour 12, 18 and 36. A grey Game Boy has no way
of its own: one channel instead of three saves 0.3 us of a step of 270.
"""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from parcade.console.base import Screen

Plane = npt.NDArray[np.uint8]  # (height, width), or (3, height, width) in colour
_TO_GREY = {3: cv2.COLOR_RGB2GRAY, 4: cv2.COLOR_RGBA2GRAY}
_WEIGHTS = np.array([9798, 19235, 3735], np.int32)  # of red, green and blue, in 1 / 2^15
_GREY_BITS = 15


class ScreenPictures:
    """Give a console with a ``screen`` (red, green, blue, perhaps a fourth byte) its ``luminance`` and ``colour``."""

    _halved: Screen | None = None

    def screen(self) -> Screen:
        """Return the last drawn frame; the console's own."""
        raise NotImplementedError

    def luminance(self, out: Plane) -> None:
        """Write the grey picture of the last drawn frame into ``out``, whose shape says in which size."""
        grey(self._in_size_of(out, out.shape), out)

    def colour(self, out: Plane) -> None:
        """Write red, green and blue of the last drawn frame into ``out`` (3, height, width)."""
        out[...] = self._in_size_of(out, out.shape[1:])[..., :3].transpose(2, 0, 1)

    def _in_size_of(self, out: Plane, size: tuple[int, ...]) -> Screen:
        """Return the screen in ``size``; refuse what does not fit: OpenCV would write to an array of its own."""
        screen = self.screen()
        full = screen.shape[:2]
        if out.dtype != np.uint8 or not out.flags.c_contiguous or (out.ndim == 3 and len(out) != 3):
            raise ValueError(f"a picture needs a C-contiguous uint8 array, got {out.dtype} of shape {out.shape}")
        if size == full:
            return screen
        if size != half_of(full):
            raise ValueError(f"the picture is {full}, or {half_of(full)} at half size; wanted {size}")
        if self._halved is None:
            self._halved = np.empty((*half_of(full), screen.shape[2]), np.uint8)
        halve(screen, self._halved)
        return self._halved


def half_of(size: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width of the half-size picture.

    >>> half_of((145, 160))
    (73, 80)
    """
    return (size[0] + 1) // 2, (size[1] + 1) // 2


def halve(picture: Screen, out: Screen) -> None:
    """Write the mean of each 2 x 2 pixels of ``picture`` into ``out``."""
    height, width = picture.shape[:2]
    if height % 2 or width % 2:
        picture = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    if opencv_is_exact():
        cv2.resize(picture, (out.shape[1], out.shape[0]), dst=out, interpolation=cv2.INTER_AREA)
    else:
        out[...] = _plain_half(picture)


def grey(picture: Screen, out: Plane) -> None:
    """Write the luminance of ``picture`` into ``out`` of its size."""
    if opencv_is_exact():
        cv2.cvtColor(picture, _TO_GREY[picture.shape[2]], dst=out)
    else:
        out[...] = _plain_grey(picture)


def _plain_half(picture: Screen) -> Screen:
    wide = picture.astype(np.uint16)
    mean = (wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2] + 2) >> 2
    return mean.astype(np.uint8)


def _plain_grey(picture: Screen) -> Plane:
    level = (picture[..., :3].astype(np.int32) @ _WEIGHTS + (1 << (_GREY_BITS - 1))) >> _GREY_BITS
    return level.astype(np.uint8)


@cache
def opencv_is_exact() -> bool:
    """Whether this machine's OpenCV gives the numbers of this file: its builds may bring rounding of their own."""
    for channels, code in _TO_GREY.items():
        probe = np.random.default_rng(0).integers(0, 256, (64, 96, channels), np.uint8)
        halved = cv2.resize(probe, (48, 32), interpolation=cv2.INTER_AREA)
        if not np.array_equal(cv2.cvtColor(probe, code), _plain_grey(probe)):
            return False
        if not np.array_equal(halved, _plain_half(probe)):
            return False
    return True
