"""Where each field stands in the slab."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.env.slot import leaves

ALIGNMENT = 64  # a cache line, so that two workers never write the same one at a field's border
POISON = 0xA5


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """One array of the slab."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int


@dataclass(frozen=True, slots=True)
class SlabLayout:
    """Every array of a slab of ``n_slots`` rows, and its size in bytes."""

    n_slots: int
    n_workers: int
    metric_names: tuple[str, ...]
    places: tuple[FieldPlace, ...]
    size: int


def plan_layout(
    observation: spaces.Space[Any],
    action: spaces.Space[Any],
    metric_names: tuple[str, ...],
    n_slots: int,
    n_workers: int,
) -> SlabLayout:
    """Return the layout for envs of these spaces: a row per slot in every array."""
    wanted: list[tuple[str, tuple[int, ...], str]] = []
    for prefix, space in (("obs", observation), ("final", observation), ("action", action)):
        wanted += [(f"{prefix}:{leaf}", (n_slots, *shape), dtype.str) for leaf, (shape, dtype) in leaves(space).items()]
    per_slot = {
        "reward": "<f8",
        "terminated": "|u1",
        "truncated": "|u1",
        "episode_return": "<f8",  # of the episode that ended with this step
        "episode_length": "<i8",
        "running_return": "<f8",  # of the episode under way
        "running_length": "<i8",  # its finished steps; -1 while it is being started, -2 while its env is being made
        "episode": "<i8",
        "steps_done": "<u8",  # written last: the row is complete up to this step
    }
    wanted += [(name, (n_slots,), dtype) for name, dtype in per_slot.items()]
    wanted.append(("metrics", (n_slots, len(metric_names)), "<f4"))
    wanted += [("beats", (n_workers,), "<u8"), ("current_slot", (n_workers,), "<i4")]
    return place_fields(wanted, n_slots, n_workers, metric_names)


def place_fields(
    wanted: Iterable[tuple[str, tuple[int, ...], str]], n_slots: int, n_workers: int, metric_names: tuple[str, ...]
) -> SlabLayout:
    """Return the layout of these arrays (name, shape, dtype), one behind the other."""
    places, offset = [], 0
    for name, shape, dtype in wanted:
        places.append(FieldPlace(name, shape, dtype, offset))
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        offset += -(-size // ALIGNMENT) * ALIGNMENT
    return SlabLayout(n_slots, n_workers, metric_names, tuple(places), max(offset, ALIGNMENT))
