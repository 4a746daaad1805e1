"""What the driver of CarRacing sees, drawn in about a tenth of a millisecond.

Gymnasium draws some 700 polygons on a 1000x800 window for every picture and shrinks it to
96x96. Here the ground is painted once per episode (`Ground`); a picture is one affine warp
of it with the car and the instrument panel laid on top (`View`, `panel.Panel`).

Coordinates: `world` units as in Box2D; `window` pixels, 1000x800, y downwards as shown;
`texels` of the ground; `pixels` of the observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from gymnasium.envs.box2d.car_dynamics import SIZE, WHEEL_COLOR, WHEEL_R, WHEEL_W, WHEEL_WHITE, WHEELPOS
from gymnasium.envs.box2d.car_racing import (
    GRASS_DIM,
    PLAYFIELD,
    SCALE,
    WINDOW_H,
    WINDOW_W,
    ZOOM,
)

from parcade.env.racing.car import HULL_POLYGONS
from parcade.env.racing.panel import DARKENED_BY, Panel

Picture = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Color = float | tuple[float, float, float]

GREY_WEIGHTS = (0.299, 0.587, 0.114)  # as cv2.COLOR_RGB2GRAY
CAR_IN_WINDOW = np.array([WINDOW_W / 2, WINDOW_H * 3 / 4])
CAR_REACH = np.array([32, 46])  # window pixels from the hull's origin to the outermost points of the car
FULL_ZOOM = ZOOM * SCALE  # window pixels per world unit
HULL_COLOR = (204, 0, 0)

# A bilinear sample of an area-averaged texture blurs like the area average of the original's
# shrinking when a pixel is about 1.7 texels wide: both kernels then have the same variance.
TEXELS_PER_PIXEL = 1.7
GRASS_PATCHES = 40  # patches and gaps along one side of the playfield
SUBTEXEL_BITS = 4
# cv2's anti-aliased polygons stand out by 0.7 texels, the original's by half a window pixel.
POLYGON_OVERHANG_TEXELS = 0.7
POLYGON_OVERHANG_WINDOW = 0.5


def paint_color(rgb: Iterable[float], grayscale: bool) -> Color:
    """The colour as cv2 wants it and as it looks in the original's picture."""
    red, green, blue = (max(int(level) - DARKENED_BY, 0) for level in rgb)
    if grayscale:
        return float(round(GREY_WEIGHTS[0] * red + GREY_WEIGHTS[1] * green + GREY_WEIGHTS[2] * blue))
    return (float(red), float(green), float(blue))


class Ground:
    """Playfield, grass, road and kerbs of one episode, with coarser copies for the zoom at the start."""

    def __init__(self, pixels_per_unit: float, grayscale: bool) -> None:
        # A whole number of texels per grass patch keeps the patches' edges sharp.
        self._patch = round(pixels_per_unit * TEXELS_PER_PIXEL * GRASS_DIM)
        self._grayscale = grayscale
        side = self._patch * GRASS_PATCHES
        self.texels_per_unit = side / (2 * PLAYFIELD)
        self._finest: Picture = np.empty((side, side) if grayscale else (side, side, 3), np.uint8)
        self._levels: list[Picture] = [self._finest]
        self._tiles: npt.NDArray[np.int32] = np.empty((0, 4, 2), np.int32)

    def paint(self, road: list[Any], background: Iterable[float], grass: Iterable[float]) -> None:
        """Paint a new episode's ground; `road` is the env's list of (corners, colour) of tiles and kerbs."""
        self._paint_field(paint_color(background, self._grayscale), paint_color(grass, self._grayscale))
        # Kerbs on a straight are points of no width; the original shows a hair's breadth of them.
        road = [(polygon, color) for polygon, color in road if polygon[0] != polygon[1]]
        corners = self._to_texels(np.array([polygon for polygon, _ in road]))
        for polygon, (_, color) in zip(corners, road, strict=True):
            self._fill(polygon, color)
        # Only a tile's colour is an array: the env changes it in place.
        is_tile = [isinstance(color, np.ndarray) for _, color in road]
        self._tiles = corners[is_tile]
        self._levels = [self._finest]

    def repaint(self, tile: int, color: Iterable[float]) -> None:
        """Paint one tile again; the coarse copies are left, they are gone within a second."""
        self._fill(self._tiles[tile], color)

    def level_for(self, texels_per_pixel: float) -> tuple[Picture, float]:
        """The copy whose texels fit a pixel of this many finest texels, and by how much it is shrunk."""
        level = max(0, round(math.log2(texels_per_pixel / TEXELS_PER_PIXEL)))
        while len(self._levels) <= level:
            finer = self._levels[-1]
            coarser: Any = cv2.resize(finer, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
            self._levels.append(coarser)
        chosen = self._levels[level]
        return chosen, len(self._finest) / len(chosen)  # not 2**level: an odd side is rounded

    def _paint_field(self, background: Color, grass: Color) -> None:
        # By whole lines of texels: a texel at a time, three channels take ten times as long.
        line = np.empty_like(self._finest[0])
        line[:] = background
        lines = self._finest.reshape(GRASS_PATCHES, self._patch, *line.shape)
        lines[1::2] = line
        line.reshape(GRASS_PATCHES, self._patch, -1)[::2] = grass
        lines[::2] = line

    def _fill(self, polygon: npt.NDArray[np.int32], color: Iterable[float]) -> None:
        cv2.fillConvexPoly(self._finest, polygon, paint_color(color, self._grayscale), cv2.LINE_AA, SUBTEXEL_BITS)

    def _to_texels(self, quads: Floats) -> npt.NDArray[np.int32]:
        """Corners (n, 4, 2) as [left 1, right 1, right 2, left 2] in fixed-point texels.

        Quads are narrowed across the road by what cv2 will add, not along it: there they
        have to overlap, or grass would shine through between two tiles.
        """
        overhang = POLYGON_OVERHANG_TEXELS / self.texels_per_unit - POLYGON_OVERHANG_WINDOW / FULL_ZOOM
        across = quads[:, 1] - quads[:, 0] + quads[:, 2] - quads[:, 3]
        across *= overhang / np.linalg.norm(across, axis=1, keepdims=True)
        inset = np.stack([across, -across, -across, across], axis=1)
        texels = (quads + inset + PLAYFIELD) * self.texels_per_unit - 0.5
        return _to_ints(texels * 2**SUBTEXEL_BITS)


class View:
    """Draws observations of one size; holds the ground of the current episode."""

    def __init__(self, height: int, width: int, grayscale: bool) -> None:
        self._height, self._width, self._grayscale = height, width, grayscale
        self._per_pixel = (WINDOW_W / width, WINDOW_H / height)  # window pixels
        self._car_at = tuple((CAR_IN_WINDOW / self._per_pixel).tolist())
        pixels_per_unit = FULL_ZOOM / math.sqrt(self._per_pixel[0] * self._per_pixel[1])
        self.ground = Ground(pixels_per_unit, grayscale)
        self.panel = Panel(height, width, grayscale)
        self._car = CarStamp(height, width, grayscale)
        self._picture: Picture = np.zeros((height, width) if grayscale else (height, width, 3), np.uint8)

    def draw(self, car: Any, time_s: float, score: float) -> Picture:
        """The picture now; the array is overwritten by the next call."""
        zoom = 0.1 * SCALE * max(1 - time_s, 0) + FULL_ZOOM * min(time_s, 1)
        self._draw_ground(car.hull, zoom)
        self._car.draw(self._picture, car.wheels, zoom)
        self.panel.draw(self._picture, car, score)
        return self._picture

    def _draw_ground(self, hull: Any, zoom: float) -> None:
        position = hull.position
        x, y, angle = position.x, position.y, hull.angle
        per_unit = self.ground.texels_per_unit
        wide, high = self._per_pixel[0] * per_unit / zoom, self._per_pixel[1] * per_unit / zoom
        texture, shrunk = self.ground.level_for(math.sqrt(wide * high))
        wide, high, per_unit = wide / shrunk, high / shrunk, per_unit / shrunk
        cos, sin = math.cos(angle), math.sin(angle)
        # Pixel (column, row) looks at the ground `right` and `up` texels from the car.
        right_0, up_0 = (0.5 - self._car_at[0]) * wide, (self._car_at[1] - 0.5) * high
        to_texels = np.array(
            [
                [cos * wide, sin * high, cos * right_0 - sin * up_0 + (x + PLAYFIELD) * per_unit - 0.5],
                [sin * wide, -cos * high, sin * right_0 + cos * up_0 + (y + PLAYFIELD) * per_unit - 0.5],
            ]
        )
        cv2.warpAffine(
            texture,
            to_texels,
            (self._width, self.panel.bottom_of_view),
            dst=self._picture[: self.panel.bottom_of_view],
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        )


class CarStamp:
    """Lays the car on a picture: the few pixels under it are enlarged, drawn on and shrunk again."""

    def __init__(self, height: int, width: int, grayscale: bool) -> None:
        per_pixel = np.array([WINDOW_W / width, WINDOW_H / height])
        at = CAR_IN_WINDOW / per_pixel
        reach = CAR_REACH / per_pixel
        first, last = np.floor(at - reach).astype(int), np.ceil(at + reach).astype(int)
        self._where = (slice(first[1], last[1]), slice(first[0], last[0]))
        enlarged = np.ceil(per_pixel).astype(int)  # so that a subpixel is about a pixel of the window
        self._small = tuple((last - first).tolist())
        self._large = tuple(((last - first) * enlarged).tolist())
        # From world units in the hull's frame to fixed-point subpixels of the patch, at zoom 1.
        self._scale = enlarged / per_pixel * [1, -1] * 2**SUBTEXEL_BITS
        self._origin = ((at - first) * enlarged - 0.5) * 2**SUBTEXEL_BITS
        self._hull = [np.array(polygon) * SIZE for polygon in HULL_POLYGONS]
        self._hull_at_full_zoom = [self._to_patch(polygon, FULL_ZOOM) for polygon in self._hull]
        self._colors = [paint_color(rgb, grayscale) for rgb in (WHEEL_COLOR, WHEEL_WHITE, HULL_COLOR)]

    def draw(self, picture: Picture, wheels: Sequence[Any], zoom: float) -> None:
        """Draw wheels and hull. The hull always points up, so only the wheels' angles matter."""
        patch = cv2.resize(picture[self._where], self._large, interpolation=cv2.INTER_NEAREST)
        black, white, red = self._colors
        stripes = [_stripe(wheel.phase) for wheel in wheels]
        corners = self._to_patch(_wheel_corners(wheels, stripes), zoom)
        for wheel, stripe in zip(corners, stripes, strict=True):
            cv2.fillConvexPoly(patch, wheel[:4], black, cv2.LINE_8, SUBTEXEL_BITS)
            if stripe is not None:
                cv2.fillConvexPoly(patch, wheel[4:], white, cv2.LINE_8, SUBTEXEL_BITS)
        full = zoom == FULL_ZOOM
        for polygon in self._hull_at_full_zoom if full else [self._to_patch(p, zoom) for p in self._hull]:
            cv2.fillConvexPoly(patch, polygon, red, cv2.LINE_8, SUBTEXEL_BITS)
        picture[self._where] = cv2.resize(patch, self._small, interpolation=cv2.INTER_AREA)

    def _to_patch(self, points: Floats, zoom: float) -> npt.NDArray[np.int32]:
        return _to_ints(points * (self._scale * zoom) + self._origin)


def _to_ints(values: Floats) -> npt.NDArray[np.int32]:
    whole: npt.NDArray[np.int32] = np.rint(values).astype(np.int32)
    return whole


def _wheel_corners(wheels: Sequence[Any], stripes: Sequence[tuple[float, float] | None]) -> Floats:
    """Corners of the four wheels and their stripes, (4, 8, 2), in world units in the hull's frame."""
    corners: list[tuple[float, float]] = []
    for wheel, (x, y), stripe in zip(wheels, WHEELPOS, stripes, strict=True):
        angle = wheel.joint.angle
        cos, sin = math.cos(angle), math.sin(angle)
        left, up = cos * WHEEL_W, sin * WHEEL_W
        for end in (1.0, -1.0, *(stripe or (0.0, 0.0))):
            to_x, to_y = x - sin * WHEEL_R * end, y + cos * WHEEL_R * end
            near, far = (to_x - left, to_y - up), (to_x + left, to_y + up)
            corners += [near, far] if len(corners) % 4 == 0 else [far, near]
    return np.array(corners).reshape(len(wheels), 8, 2) * SIZE


def _stripe(phase: float) -> tuple[float, float] | None:
    """Where the pale stripe that shows a wheel's rolling starts and ends (1 front, -1 rear), None if underneath."""
    first, second = math.cos(phase), math.cos(phase + 1.2)
    first_under, second_under = math.sin(phase) > 0, math.sin(phase + 1.2) > 0
    if first_under and second_under:
        return None
    if first_under:
        first = math.copysign(1.0, first)
    if second_under:
        second = math.copysign(1.0, second)
    return first, second
