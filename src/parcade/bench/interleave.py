"""Measure contenders in interleaved rounds: a busy machine slows all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Protocol

from parcade.bench.progress import Say


class Contender(Protocol):
    """Something that can be measured for a while, again and again."""

    def turn(self, seconds: float) -> float:
        """Work for about ``seconds`` and return steps per second."""
        ...

    def close(self) -> None:
        """Free everything; twice is fine."""
        ...


def interleave(contenders: Mapping[str, Contender], rounds: int, seconds: float, say: Say) -> dict[str, list[float]]:
    """Return each contender's rate in every round; a short turn of each before the first is not counted."""
    for contender in contenders.values():
        contender.turn(min(0.5, seconds))
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, contender in contenders.items():
            rates[name].append(contender.turn(seconds))
            say(f"round {number + 1} of {rounds}  {name:<24} {rates[name][-1]:>8,.0f} steps/s")
    return rates


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median over rounds of ours / theirs: both numbers of a ratio come from the same few seconds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
