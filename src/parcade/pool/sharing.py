"""Which worker has which slots, and which processor."""

from __future__ import annotations

import os
from itertools import pairwise


def share_slots(n_envs: int, n_workers: int) -> list[range]:
    """Return contiguous ranges that differ by one slot at most.

    >>> share_slots(5, 2)
    [range(0, 3), range(3, 5)]
    """
    small, extra = divmod(n_envs, n_workers)
    starts = [worker * small + min(worker, extra) for worker in range(n_workers + 1)]
    return [range(a, b) for a, b in pairwise(starts)]


def processors(n_workers: int, pin: bool | None) -> list[int | None]:
    """Return the processor of each worker, None for any.

    By itself the kernel now and then puts two workers on one core while the trainer sleeps on the other. Workers are
    kept apart only where they fill the machine: fewer would all crowd the first cores beside another program's.
    """
    if not hasattr(os, "sched_getaffinity") or pin is False:
        return [None] * n_workers
    allowed = sorted(os.sched_getaffinity(0))
    if pin is None and n_workers != len(allowed):
        return [None] * n_workers
    return [allowed[worker % len(allowed)] for worker in range(n_workers)]
