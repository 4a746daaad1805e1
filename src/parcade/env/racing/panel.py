"""The black instrument panel below the view of CarRacing: score, speed, wheels, steering, gyroscope."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pygame
from gymnasium.envs.box2d.car_racing import WINDOW_H, WINDOW_W

Picture = npt.NDArray[np.uint8]
Weights = npt.NDArray[np.float32]

CELL_W, CELL_H = WINDOW_W / 40, WINDOW_H / 40  # the grid the original places its bars on
PANEL_TOP = WINDOW_H - 5 * CELL_H
UPRIGHT_CELLS = (5, 7, 8, 9, 10)  # speed, then four wheels
UPRIGHT_COLORS = ((255, 255, 255), (0, 0, 255), (0, 0, 255), (51, 0, 255), (51, 0, 255))
STEERING_CELL, STEERING_COLOR = 20, (0, 255, 0)
GYRO_CELL, GYRO_COLOR = 30, (255, 0, 0)
SCORE_CENTRE = (60, WINDOW_H - WINDOW_H * 2.5 / 40.0)
SHOWN_ABOVE = 1e-4  # a bar of a smaller value is not drawn
DARKENED_BY = 2  # pygame's smoothscale rounds down so often that every even area loses two levels
MOST_SCORES_KEPT = 4096


class Panel:
    """Draws the panel as one small matrix product: bars are (share of rows) x (share of columns)."""

    def __init__(self, height: int, width: int, grayscale: bool) -> None:
        self._grayscale = grayscale
        self._channels = 1 if grayscale else 3
        self._top = math.floor(PANEL_TOP * height / WINDOW_H)
        # Bars start and end on whole window pixels, so these tables hold every share they can cover.
        self._rows_before = _shares_before(WINDOW_H, height)[:, self._top :]
        self._columns_before = _shares_before(WINDOW_W, width)
        # Where the panel starts within a row of pixels, that row keeps a share of the view.
        self._shared = float(_covered(self._rows_before, [(0, int(PANEL_TOP))])[0, 0])
        self.bottom_of_view = self._top + (self._shared > 0)

        n_rows, n_bars = height - self._top, len(UPRIGHT_CELLS) + 2
        self._rows: Weights = np.zeros((n_rows, n_bars), np.float32)
        self._columns: Weights = np.zeros((n_bars, width, self._channels), np.float32)
        for bar, (cell, rgb) in enumerate(zip(UPRIGHT_CELLS, UPRIGHT_COLORS, strict=True)):
            # The column after its cell belongs to a bar too, unless a neighbour is drawn over it.
            end = (cell + 1) * CELL_W + (cell + 1 not in UPRIGHT_CELLS)
            columns = _covered(self._columns_before, [(int(cell * CELL_W), int(end))])[0]
            self._columns[bar] = np.outer(columns, self._color(rgb))
        lying = (int(WINDOW_H - 4 * CELL_H), int(WINDOW_H - 2 * CELL_H) + 1)
        self._rows[:, -2:] = _covered(self._rows_before, [lying]).T
        self._lying_colors = np.array([[self._color(GYRO_COLOR)], [self._color(STEERING_COLOR)]])
        self._score = functools.lru_cache(MOST_SCORES_KEPT)(self._draw_score)
        self._n_score_columns = math.ceil(UPRIGHT_CELLS[0] * CELL_W * width / WINDOW_W)

    def draw(self, picture: Picture, car: Any, score: float) -> None:
        """Overwrite the panel's part of the picture."""
        self._set_bars(car)
        n_rows = len(self._rows)
        panel = (self._rows @ self._columns.reshape(len(self._columns), -1)).reshape(n_rows, -1, self._channels)
        panel[:, : self._n_score_columns] += self._score(f"{score:04.0f}")
        panel -= DARKENED_BY - 0.5  # the half rounds
        panel.clip(0.0, 255.0, out=panel)
        below = picture[self._top :].reshape(panel.shape)
        if self._shared:
            panel[0] += below[0] * self._shared
        below[:] = panel

    def _set_bars(self, car: Any) -> None:
        velocity = car.hull.linearVelocity
        speed = math.sqrt(velocity.x**2 + velocity.y**2)
        foot = WINDOW_H - CELL_H
        ends = [_bar(foot, -0.02 * CELL_H, speed, WINDOW_H)]
        ends += [_bar(foot, -0.01 * CELL_H, wheel.omega, WINDOW_H) for wheel in car.wheels]
        self._rows[:, :-2] = _covered(self._rows_before, ends).T
        lying = [
            _bar(GYRO_CELL * CELL_W, -0.8 * CELL_W, car.hull.angularVelocity, WINDOW_W),
            _bar(STEERING_CELL * CELL_W, -10.0 * CELL_W, car.wheels[0].joint.angle, WINDOW_W),
        ]
        gyro_and_steering = _covered(self._columns_before, lying)
        gyro, steering = gyro_and_steering
        # The gyroscope's bar is drawn later and hides the other where they meet.
        steering *= 1 - gyro
        np.multiply(gyro_and_steering[:, :, None], self._lying_colors, out=self._columns[-2:])

    def _color(self, rgb: tuple[int, int, int]) -> Weights:
        if self._grayscale:
            return np.array([0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]], np.float32)
        return np.array(rgb, np.float32)

    def _draw_score(self, text: str) -> Weights:
        """The score's glyphs, averaged over each pixel: (rows, columns, 1)."""
        ink = _ink(text)
        box = pygame.Rect(0, 0, ink.shape[1], ink.shape[0])
        box.center = SCORE_CENTRE
        rows = _covered(self._rows_before, [(y, y + 1) for y in range(box.top, box.bottom)])
        columns = _covered(self._columns_before, [(x, x + 1) for x in range(box.left, box.right)])
        averaged = rows.T @ ink @ columns[:, : self._n_score_columns]
        return averaged[:, :, None].astype(np.float32)


@functools.lru_cache(MOST_SCORES_KEPT)
def _ink(text: str) -> Weights:
    """The text as (rows, columns) of 0 to 255.

    The font is opened anew for every text (0.1 ms) and dropped: `pygame.quit()`, which any other env's `close` may
    call, makes fonts that were opened before it unusable.
    """
    pygame.font.init()
    font = pygame.font.Font(pygame.font.get_default_font(), 42)
    glyphs = font.render(text, True, (255, 255, 255), (0, 0, 0))
    return pygame.surfarray.array3d(glyphs)[:, :, 0].T.astype(np.float32)


def _bar(start: float, per_unit: float, value: float, most: int) -> tuple[int, int]:
    """First window pixel and the one after the last of a bar that shows `value`, within 0 to `most`.

    As in pygame, coordinates are cut to whole numbers and both ends belong to the bar.
    """
    if abs(value) <= SHOWN_ABOVE:
        return 0, 0
    end = start + per_unit * value
    low, high = (start, end) if start < end else (end, start)
    return max(int(low), 0), min(int(high) + 1, most)


def _shares_before(n_window: int, n_pixels: int) -> Weights:
    """Row k, for k from 0 to `n_window`: the share of each pixel that the first k window pixels cover."""
    ends = np.arange(n_window + 1)[:, None] * (n_pixels / n_window)
    shares: Weights = np.clip(ends - np.arange(n_pixels), 0.0, 1.0).astype(np.float32)
    return shares


def _covered(shares_before: Weights, bars: Sequence[tuple[int, int]]) -> Weights:
    """The share of each pixel that each bar covers, (bars, pixels); a bar is (start, end) in window pixels."""
    at = np.array(bars)
    covered: Weights = shares_before[at[:, 1]] - shares_before[at[:, 0]]
    return covered
