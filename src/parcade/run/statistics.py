"""Scores of few runs, told honestly: interquartile means with bootstrap intervals over seeds.

The measures are those of Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice" (2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 10_000
CURVE_RESAMPLES = 1_000
LEVEL = 95.0  # per cent of the resampled values that an interval holds


class Interval(NamedTuple):
    """A measure and where it lies in 95 % of the resampled seeds; both ends are the value itself for a single seed."""

    value: float
    low: float
    high: float


def iqm(scores: Floats) -> Floats:
    """Return the mean of the middle half along the first axis: a quarter of the scores is left out at each end.

    >>> float(iqm(np.array([0.0, 1.0, 2.0, 100.0])))
    1.5
    """
    cut = len(scores) // 4
    middle: Floats = np.sort(scores, axis=0)[cut : len(scores) - cut].mean(axis=0)
    return middle


def interval(scores: Floats, seed: int = 0) -> Interval:
    """Return the interquartile mean of one score for each seed, with its interval; the same scores give the same."""
    resampled = _resampled(np.asarray(scores, np.float64), RESAMPLES, seed)
    return Interval(float(iqm(scores)), *_ends(iqm(resampled.T)))


def bands(curves: Floats, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Return the interquartile mean of curves (seeds, points), and both ends of its interval at each point."""
    random = np.random.default_rng(seed)
    picked = random.integers(len(curves), size=(len(curves), CURVE_RESAMPLES))
    resampled = iqm(curves[picked])  # (resamples, points)
    rest = (100 - LEVEL) / 2
    low, high = np.percentile(resampled, [rest, 100 - rest], axis=0)
    return iqm(curves), low, high


def improvement(scores: Floats, others: Floats, seed: int = 0) -> Interval:
    """Return how probable it is that a run of the first kind beats one of the second; a draw counts half."""
    resampled = _resampled(np.asarray(scores, np.float64), RESAMPLES, seed)
    against = _resampled(np.asarray(others, np.float64), RESAMPLES, seed + 1)
    return Interval(float(_wins(scores[None], others[None])[0]), *_ends(_wins(resampled, against)))


def _wins(scores: Floats, others: Floats) -> Floats:
    apart = np.sign(scores[:, :, None] - others[:, None, :])
    share: Floats = (0.5 * (apart + 1)).mean(axis=(1, 2))
    return share


def _resampled(scores: Floats, count: int, seed: int) -> Floats:
    drawn: Floats = scores[np.random.default_rng(seed).integers(len(scores), size=(count, len(scores)))]
    return drawn


def _ends(values: Floats) -> tuple[float, float]:
    rest = (100 - LEVEL) / 2
    low, high = np.percentile(values, [rest, 100 - rest])
    return float(low), float(high)
