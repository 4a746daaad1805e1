"""Which worker has which slots and which processor, and which slots it plays together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

TILE = 8


def share_slots(n_envs: int, n_workers: int) -> list[range]:
    """Return contiguous ranges that differ by one slot at most.

    >>> share_slots(5, 2)
    [range(0, 3), range(3, 5)]
    """
    small, extra = divmod(n_envs, n_workers)
    starts = [worker * small + min(worker, extra) for worker in range(n_workers + 1)]
    return [range(a, b) for a, b in pairwise(starts)]


def tiles(slots: range, group: int, n_groups: int) -> list[range]:
    """Return the slots of a group that a worker plays together, from the first to the last step of a fragment.

    More consoles push each other out of the processor's cache: with 32 in turn, six frames of Lantern take 212 us
    instead of 193 and reading them 34 instead of 20 (one core, November 2026).

    >>> tiles(range(3, 24), 0, 2)
    [range(4, 20, 2), range(20, 24, 2)]
    """
    of_group = range(slots.start + (group - slots.start) % n_groups, slots.stop, n_groups)
    return [of_group[first : first + TILE] for first in range(0, len(of_group), TILE)]


def tile_leaders(shares: Sequence[range], n_groups: int) -> npt.NDArray[np.int64]:
    """Return for each slot the first slot of its tile, whose entry of ``taken`` counts for all of them."""
    leaders = np.zeros(shares[-1].stop, np.int64)
    for slots in shares:
        for group in range(n_groups):
            for tile in tiles(slots, group, n_groups):
                leaders[list(tile)] = tile.start
    return leaders


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
