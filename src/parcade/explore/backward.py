"""Backward starts: episodes begin near a demonstration's end, and move back as the agent succeeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import ModelFileError
from parcade.explore.lineage import Segment
from parcade.pool.block import Block
from parcade.pool.seeding import Start

WINDOW = 20  # episodes from one place that are looked at before it moves
ENOUGH = 0.6  # the share of them that must succeed; Salimans and Chen (2018) ask for a fifth of the score
MOVES = 40  # from the end of a demonstration to its beginning


class BackwardStarts:
    """One place for each demonstration: the steps of it that are played before an episode begins.

    Episodes begin up to one move behind the place, so that the agent does not learn a single moment by heart. Where
    ``ENOUGH`` of the last ``WINDOW`` episodes succeed, the place moves back; at 0 it stays at the true start.
    """

    def __init__(self, demonstrations: list[Start]) -> None:
        self._demonstrations = demonstrations
        self._moves = [max(1, -(-demo.n_steps // MOVES)) for demo in demonstrations]
        self.places = [max(0, demo.n_steps - move) for demo, move in zip(demonstrations, self._moves, strict=True)]
        self._won: list[list[int]] = [[] for _ in demonstrations]

    def choose(self, rng: np.random.Generator) -> Start:
        """Return a start near the place of one demonstration."""
        which = int(rng.integers(len(self.places)))
        demo, place = self._demonstrations[which], self.places[which]
        until = min(place + int(rng.integers(self._moves[which])), demo.n_steps - 1)
        return Start(demo.seed, {leaf: rows[:until] for leaf, rows in demo.actions.items()})

    def note(self, segment: Segment, block: Block, start: Start | None) -> None:
        """Count an episode that ended, where it began at a demonstration's place."""
        which = self._of(start)
        if which is None or "success" not in block.metric_names:
            return
        success = block.metrics[segment.stop - 1, segment.slot, block.metric_names.index("success")]
        won = self._won[which]
        won.append(int(success >= 0.5))
        if len(won) >= WINDOW and sum(won[-WINDOW:]) >= ENOUGH * WINDOW:
            self.places[which] = max(0, self.places[which] - self._moves[which])
            won.clear()
        del won[:-WINDOW]

    def _of(self, start: Start | None) -> int | None:
        """Return which demonstration a start belongs to, if it lies not behind the present place's reach."""
        if start is None:
            return None
        for which, demo in enumerate(self._demonstrations):
            reach = self.places[which] + self._moves[which]
            if demo.seed == start.seed and start.n_steps <= min(reach, demo.n_steps):
                taken = {leaf: rows[: start.n_steps] for leaf, rows in demo.actions.items()}
                if all(np.array_equal(rows, start.actions[leaf]) for leaf, rows in taken.items()):
                    return which
        return None

    def told(self) -> dict[str, float]:
        """Return how far the places have moved: 1 at a demonstration's end, 0 at its beginning."""
        shares = [p / max(1, demo.n_steps) for p, demo in zip(self.places, self._demonstrations, strict=True)]
        return {"backward_place": float(np.mean(shares))}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays."""
        return {
            "places": np.array(self.places, np.int64),
            "won": np.array([one for won in self._won for one in won], np.int64),
            "n_won": np.array([len(won) for won in self._won], np.int64),
        }

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what ``state`` returned."""
        if any(state[name].dtype != np.int64 or state[name].min(initial=0) < 0 for name in ("places", "n_won", "won")):
            raise ModelFileError("the checkpoint's places in demonstrations are no whole numbers")
        places, sizes = state["places"].tolist(), state["n_won"].tolist()
        if not len(places) == len(sizes) == len(self.places) or sum(sizes) != len(state["won"]):
            raise ModelFileError(f"the checkpoint holds {len(places)} demonstrations, wanted {len(self.places)}")
        if any(place > demo.n_steps for place, demo in zip(places, self._demonstrations, strict=True)):
            raise ModelFileError("the checkpoint's places lie behind the ends of the demonstrations")
        won = iter(state["won"].tolist())
        self.places, self._won = places, [[next(won) for _ in range(size)] for size in sizes]
