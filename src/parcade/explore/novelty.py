"""Novelty: a bonus for reaching what an episode, or the whole training, has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import ModelFileError
from parcade.explore.lineage import Segment

KINDS = ("episodic", "lifetime", "both")
Cells = npt.NDArray[np.uint64]


class CountNovelty:
    """Pays for cells by how often they were entered.

    ``episodic``: 1 the first time in an episode. ``lifetime``: 1 / sqrt(n) for the n-th time in the training, whenever
    a cell is entered. ``both``: 1 / sqrt(n) the first time in an episode. A step that stays in its cell gets nothing.
    """

    def __init__(self, kind: str, n_envs: int) -> None:
        self._kind = kind
        self.counts: dict[int, int] = {}  # cell -> times it was paid for
        self._seen: list[set[int]] = [set() for _ in range(n_envs)]  # in the slot's present episode
        self._last = [0] * n_envs  # the cell of the slot's last step

    def bonuses(self, segment: Segment, cells: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the bonus of each row of a segment, whose rows led to ``cells`` (0: nowhere)."""
        found = np.zeros(len(cells))
        seen, last = self._seen[segment.slot], self._last[segment.slot]
        for row, cell in enumerate(cells):
            if cell and cell != last:
                found[row] = self._pay(cell, is_first=cell not in seen)
                seen.add(cell)
            last = cell or last
        self._last[segment.slot] = 0 if segment.ended else last
        if segment.ended:
            seen.clear()
        return found

    def _pay(self, cell: int, *, is_first: bool) -> float:
        if self._kind == "episodic":
            return float(is_first)
        if self._kind == "both" and not is_first:
            return 0.0
        count = self.counts[cell] = self.counts.get(cell, 0) + 1
        return float(count**-0.5)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays."""
        return {
            "counted": np.fromiter(self.counts, np.uint64, len(self.counts)),
            "counts": np.fromiter(self.counts.values(), np.int64, len(self.counts)),
            "last": np.array(self._last, np.uint64),
            "seen": np.array([cell for seen in self._seen for cell in sorted(seen)], np.uint64),
            "n_seen": np.array([len(seen) for seen in self._seen], np.int64),
        }

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what ``state`` returned."""
        for name, own in self.state().items():
            if state[name].dtype != own.dtype or state[name].ndim != 1:
                raise ModelFileError(f"the checkpoint's {name} of novelty are no numbers of {own.dtype}")
        sizes = state["n_seen"]
        if len(sizes) != len(self._seen) or len(state["last"]) != len(self._seen):
            raise ModelFileError(f"the checkpoint holds novelty of {len(sizes)} slots, wanted {len(self._seen)}")
        if sizes.min(initial=0) < 0 or state["counts"].min(initial=1) < 1:
            raise ModelFileError("the checkpoint's novelty has impossible counts")
        if sizes.sum() != len(state["seen"]) or len(state["counts"]) != len(state["counted"]):
            raise ModelFileError("the checkpoint's novelty counts are inconsistent")
        self.counts = dict(zip(state["counted"].tolist(), state["counts"].tolist(), strict=True))
        self._last = state["last"].tolist()
        ends = np.cumsum(sizes)
        self._seen = [set(state["seen"][end - n : end].tolist()) for end, n in zip(ends, sizes, strict=True)]
