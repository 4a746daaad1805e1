"""The archive: starts found while playing, one for each cell, and which of them the next episodes begin at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import ModelFileError
from parcade.explore.lineage import Segment
from parcade.pool.block import Block
from parcade.pool.seeding import Start

FRONTIER = 0.1  # the share of the newest entries that ``frontier`` chooses from
NO_MILESTONE = -1
_MIX = 0x9E3779B97F4A7C15  # odd: entries of one cell and several milestones get keys far apart


@dataclass(slots=True, eq=False)
class Entry:
    """One cell: how to get there, how often it was reached and begun at, and when it was found.

    With the strategy ``milestone`` it is one cell and the milestone that was reached there.
    """

    start: Start
    reached: int
    chosen: int
    found: int  # the order in which cells were found
    milestone: int = NO_MILESTONE


class Archive:
    """One start for each cell, the shortest way that was seen; bounded in size.

    ``strategy``: ``count`` chooses cells by 1 / sqrt(times reached and begun at), ``uniform`` each as often,
    ``frontier`` among the newest tenth. ``milestone`` keeps only the moments at which an episode reached a milestone,
    one start for each milestone and cell; every milestone that was ever reached is chosen as often as the others, and
    its cells by count. What is dropped when the archive is full is the cell reached most often, of the milestone with
    the most cells.
    """

    def __init__(self, strategy: str, size: int) -> None:
        self._strategy, self._size = strategy, size
        self.entries: dict[int, Entry] = {}
        self._found = 0

    def take(self, block: Block, segment: Segment, cells: Sequence[int], new: Sequence[int] = ()) -> None:
        """Note the cells that a segment's rows led to; an episode's last row is no place to begin at.

        Bit i of ``new`` says that a row was the first of its episode to reach milestone i.
        """
        usable = cells[: len(cells) - 1] if segment.ended else cells
        if self._strategy == "milestone":
            self._take_milestones(block, segment, usable, new)
            return
        last = 0
        for offset, cell in enumerate(usable):
            if cell and cell != last:
                self._note(block, segment, segment.first + offset, cell)
            last = cell

    def _take_milestones(self, block: Block, segment: Segment, cells: Sequence[int], new: Sequence[int]) -> None:
        """Note where milestones were reached; in a moment without a cell, the next one that has a cell counts."""
        waiting = 0
        for offset, (cell, bits) in enumerate(zip(cells, new, strict=False)):
            waiting |= bits
            if cell and waiting:
                for milestone in range(waiting.bit_length()):
                    if waiting >> milestone & 1:
                        self._note(block, segment, segment.first + offset, cell, milestone)
                waiting = 0

    def _note(self, block: Block, segment: Segment, row: int, cell: int, milestone: int = NO_MILESTONE) -> None:
        steps, key = segment.steps_before + row + 1 - segment.first, _key(cell, milestone)
        entry = self.entries.get(key)
        if entry is None:
            self._found += 1
            self.entries[key] = Entry(segment.until(row, block), 1, 0, self._found, milestone)
            if len(self.entries) > self._size:
                self._drop_one()
            return
        entry.reached += 1
        if steps < entry.start.n_steps:
            entry.start = segment.until(row, block)

    def _drop_one(self) -> None:
        sizes = Counter(entry.milestone for entry in self.entries.values())

        def rank(key: int) -> tuple[int, int, int]:
            entry = self.entries[key]
            return sizes[entry.milestone], entry.reached, -entry.found

        del self.entries[max(self.entries, key=rank)]

    def choose(self, rng: np.random.Generator) -> Start | None:
        """Return a start; None where nothing was found yet."""
        if not self.entries:
            return None
        entries = list(self.entries.values())
        if self._strategy == "frontier":
            entries = sorted(entries, key=lambda entry: -entry.found)[: max(1, round(FRONTIER * len(entries)))]
        if self._strategy == "milestone":
            reached = sorted({entry.milestone for entry in entries})
            milestone = reached[int(rng.integers(len(reached)))]
            entries = [entry for entry in entries if entry.milestone == milestone]
        weights = np.array([self._weight(entry) for entry in entries])
        chosen = entries[int(rng.choice(len(entries), p=weights / weights.sum()))]
        chosen.chosen += 1
        return chosen.start

    def _weight(self, entry: Entry) -> float:
        return float((entry.reached + entry.chosen) ** -0.5) if self._strategy in ("count", "milestone") else 1.0

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays."""
        entries = list(self.entries.values())
        numbers = [(e.reached, e.chosen, e.found, e.milestone) for e in entries]
        return {
            "cells": np.fromiter(self.entries, np.uint64, len(entries)),
            "numbers": np.array(numbers, np.int64).reshape(len(entries), 4),
            "found": np.array([self._found], np.int64),
            **pack_starts([entry.start for entry in entries]),
        }

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what ``state`` returned."""
        starts, cells, found = unpack_starts(state), state["cells"], state["numbers"]
        if cells.shape != (len(starts),) or cells.dtype != np.uint64 or found.shape[:1] != (len(starts),):
            raise ModelFileError("the checkpoint's archive is inconsistent")
        if found.ndim != 2 or found.shape[1] not in (3, 4):  # 3: before there were milestones
            raise ModelFileError("the checkpoint's archive has no counts of its cells")
        if found.dtype != np.int64 or (found[:, :3] < [1, 0, 1]).any():
            raise ModelFileError("the checkpoint's archive has impossible counts")
        rows = zip(state["cells"].tolist(), starts, state["numbers"].tolist(), strict=True)
        self.entries = {cell: Entry(start, *numbers) for cell, start, numbers in rows}
        self._found = int(state["found"][0])


def _key(cell: int, milestone: int) -> int:
    return (cell ^ (milestone + 1) * _MIX) & (1 << 64) - 1


def pack_starts(starts: Sequence[Start]) -> dict[str, npt.NDArray[Any]]:
    """Return starts as plain arrays: their actions one behind the other."""
    leaves = starts[0].actions if starts else {}
    return {
        "seeds": np.array([start.seed for start in starts], np.int64),
        "steps": np.array([start.n_steps for start in starts], np.int64),
        **{f"taken:{leaf}": np.concatenate([start.actions[leaf] for start in starts]) for leaf in leaves},
    }


def unpack_starts(state: Mapping[str, npt.NDArray[Any]]) -> list[Start]:
    """Return what ``pack_starts`` packed; arrays that do not fit together are refused."""
    seeds, steps = (_whole_numbers(state.get(name)) for name in ("seeds", "steps"))
    leaves = {name.removeprefix("taken:"): array for name, array in state.items() if name.startswith("taken:")}
    if seeds is None or steps is None or len(seeds) != len(steps):
        raise ModelFileError("the checkpoint's starts have no seeds or lengths")
    if any(array.ndim < 1 or len(array) != steps.sum() for array in leaves.values()) or (len(seeds) and not leaves):
        raise ModelFileError("the checkpoint's starts have actions that do not match their lengths")
    ends = np.cumsum(steps)
    return [
        Start(int(seed), {leaf: array[end - n : end] for leaf, array in leaves.items()})
        for seed, n, end in zip(seeds, steps, ends, strict=True)
    ]


def _whole_numbers(array: npt.NDArray[Any] | None) -> npt.NDArray[np.int64] | None:
    """Return a list of whole numbers from 0 on; None for anything else."""
    if array is None or array.dtype != np.int64 or array.ndim != 1 or array.min(initial=0) < 0:
        return None
    return array
