"""Contestants that take turns, so that a busy machine slows all of them alike; rates are medians."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

Say = Callable[[str], None]


class Contestant(Protocol):
    """Something that can be measured for a while, again and again."""

    def turn(self, seconds: float) -> float:
        """Work for about ``seconds`` and return steps per second."""
        ...

    def close(self) -> None:
        """Free everything; twice is fine."""
        ...


def take_turns(contestants: Mapping[str, Contestant], rounds: int, seconds: float, say: Say) -> dict[str, list[float]]:
    """Return each contestant's rate in every round; a short turn of each before the first is not counted."""
    for contestant in contestants.values():
        contestant.turn(min(0.5, seconds))
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, contestant in contestants.items():
            rates[name].append(contestant.turn(seconds))
            say(f"round {number + 1} of {rounds}  {name:<24} {rates[name][-1]:>8,.0f} steps/s")
    return rates


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median over rounds of ours / theirs: both numbers of a ratio come from the same few seconds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def tell_stderr(text: str) -> None:
    """Show progress where results do not go."""
    print(text, file=sys.stderr, flush=True)


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process in MB; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def machine() -> str:
    """Return processor, cores and Python in one line, to stand beside a figure."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
