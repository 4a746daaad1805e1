"""How many processors this process may use: `taskset` and containers can leave it fewer than the machine has."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return the number of processors the kernel lets this process run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
