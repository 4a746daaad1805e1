"""What the kernel tells of cores: how long a process ran and how long it waited for one, and how long each was idle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_NS = 1e-9


class CoreTime(NamedTuple):
    """Seconds of a process since it began: on a core, and ready to run while others had it."""

    run_s: float
    wait_s: float


def core_time(pid: int) -> CoreTime | None:
    """Return how long a process's main thread has run and waited; None if it is gone or the kernel does not tell."""
    try:
        run, wait, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
        return CoreTime(int(run) * _NS, int(wait) * _NS)
    except (OSError, ValueError):
        return None


def idle_seconds() -> dict[int, float]:
    """Return for each core the seconds in which nobody used it; empty where the kernel does not tell."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return {}
    return {core: seconds for line in lines if (found := _idle_of(line)) is not None for core, seconds in [found]}


def _idle_of(line: str) -> tuple[int, float] | None:
    """Return core and idle seconds of a line of /proc/stat; time spent waiting for a disk is idle too.

    >>> core, seconds = _idle_of("cpu1 10 20 30 400 50 0 0 0 0 0")
    >>> core, round(seconds * os.sysconf("SC_CLK_TCK"))
    (1, 450)
    """
    name, *numbers = line.split()
    if not (name.startswith("cpu") and name[3:].isdigit() and len(numbers) > 4):
        return None
    return int(name[3:]), (int(numbers[3]) + int(numbers[4])) / os.sysconf("SC_CLK_TCK")


def allowed_cores() -> tuple[int, ...]:
    """Return the processors the kernel lets this process run on; empty where it does not tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
