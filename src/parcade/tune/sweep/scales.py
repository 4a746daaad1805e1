"""Scales of a sweep's charts: from a setting's value to a share of an axis, with round marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parcade.run.curves import WIDE, axes_for, percent, short
from parcade.tune.sweep.ranges import Range

_MOST_MARKS = 6
_LETTERS = 16  # of a choice's label


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from ``low`` to ``high``, in powers where ``log``; or single ``choices``."""

    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[str, ...] = ()
    share: bool = False  # said as per cent

    def place(self, value: Any) -> float:
        """Return where a value stands, 0 to 1."""
        if self.choices:
            return (self.choices.index(said(value)) + 0.5) / len(self.choices)
        low, high, at = (self._even(number) for number in (self.low, self.high, float(value)))
        return (at - low) / (high - low) if high > low else 0.5

    def _even(self, value: float) -> float:
        return math.log(value) if self.log else value

    def marks(self) -> list[tuple[float, str]]:
        """Return places and labels of round values."""
        if self.choices:
            return [(self.place(choice), clipped(choice)) for choice in self.choices]
        found = _powers(self.low, self.high) if self.log else []
        if len(found) < 2:
            found = axes_for(WIDE, (0.0, 1.0), [self.low, self.high], False).y_ticks
        found = [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
        while len(found) > _MOST_MARKS:
            found = found[::2]
        return [(self.place(value), percent(value) if self.share else short(value)) for value in found]


def _powers(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    inside = [value for value in fine if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    whole = [value for value in inside if math.isclose(math.log10(value), round(math.log10(value)))]
    return whole if len(whole) >= 3 else inside


def scale_of(one: Range) -> Scale:
    """Return the scale of a setting's range."""
    if one.kind == "choice":
        return Scale(choices=tuple(said(choice) for choice in one.choices))
    return Scale(one.low, one.high, one.log)


def scale_for(values: Sequence[float], share: bool = False) -> Scale:
    """Return a scale with round ends that holds all values."""
    if share:
        return Scale(0.0, 1.0, share=True)
    ticks = axes_for(WIDE, (0.0, 1.0), values or [0.0, 1.0], False).y_ticks
    return Scale(ticks[0], ticks[-1])


def said(value: Any) -> str:
    """Return a setting's value in few letters.

    >>> said([64, 64]), said(0.00012345), said(True), said(None)
    ('64×64', '0.0001234', 'yes', '–')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "×".join(map(str, value)) or "none"
    return "–" if value is None else str(value)


def clipped(text: str) -> str:
    """Return a label that fits below a mark."""
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
