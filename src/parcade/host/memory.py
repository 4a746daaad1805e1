"""How much memory there is, and how much a process has for itself."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def private_mb(pid: int) -> float:
    """Return the memory of a process that is shared with no other, in MB; 0 where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1e3


def total_mb() -> float:
    """Return the memory of the machine in MB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6


def available_mb() -> float:
    """Return the memory that new processes can have, in MB: what the machine has left, and the container's limit."""
    found = [total_mb()]
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1.024e-3 for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):  # "max" is no number: no limit
        limit, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append((limit - used) / 1e6)
    return max(0.0, min(found))
