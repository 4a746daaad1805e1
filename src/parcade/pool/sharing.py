"""Which worker has which slots and which processor, and which slots it plays together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

TILE = 8  # slots played together, unless an actor says otherwise


def share_slots(n_envs: int, n_workers: int, weights: Sequence[float] | None = None) -> list[range]:
    """Return contiguous ranges that differ by one slot at most; with ``weights``, in proportion to them.

    Every worker has a slot, however little its weight.

    >>> share_slots(5, 2)
    [range(0, 3), range(3, 5)]
    >>> share_slots(12, 2, (1.0, 0.5))
    [range(0, 8), range(8, 12)]
    """
    if weights is None:
        small, extra = divmod(n_envs, n_workers)
        starts = [worker * small + min(worker, extra) for worker in range(n_workers + 1)]
    else:
        counts = _weighted_counts(n_envs, weights)
        starts = [sum(counts[:worker]) for worker in range(n_workers + 1)]
    return [range(a, b) for a, b in pairwise(starts)]


def _weighted_counts(n_envs: int, weights: Sequence[float]) -> list[int]:
    """Give each slot in turn to the worker that would finish it first."""
    counts = [1] * len(weights)
    for _ in range(n_envs - len(weights)):
        counts[min(range(len(weights)), key=lambda worker: (counts[worker] + 1) / weights[worker])] += 1
    return counts


def tiles(slots: range, group: int, n_groups: int, size: int = TILE) -> list[range]:
    """Return the slots of a group that a worker plays together, from the first to the last step of a fragment.

    An actor that computes many rows at a time as quickly as one wants them large.

    More consoles push each other out of the processor's cache: with 32 in turn, six frames of Lantern take 212 us
    instead of 193 and reading them 34 instead of 20 (one core, November 2026).

    >>> tiles(range(3, 24), 0, 2)
    [range(4, 20, 2), range(20, 24, 2)]
    """
    of_group = range(slots.start + (group - slots.start) % n_groups, slots.stop, n_groups)
    return [of_group[first : first + size] for first in range(0, len(of_group), size)]


def tile_leaders(shares: Sequence[range], n_groups: int, size: int = TILE) -> npt.NDArray[np.int64]:
    """Return for each slot the first slot of its tile, whose entry of ``taken`` counts for all of them."""
    leaders = np.zeros(shares[-1].stop, np.int64)
    for slots in shares:
        for group in range(n_groups):
            for tile in tiles(slots, group, n_groups, size):
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
