"""Reads on in the trails that workers leave in the showcase: each place once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from parcade.pool.showcase import Showcase


class TrailReader:
    """Knows how far it has read; ``ends`` counts the places of each slot."""

    def __init__(self, showcase: Showcase, shares: Sequence[range], ends: Sequence[int] | None = None) -> None:
        self._showcase, self._shares = showcase, shares
        self.ends = [0] * showcase.n_envs if ends is None else list(ends)

    def read_on(self) -> Iterator[tuple[int, npt.NDArray[np.int16], list[str]]]:
        """Yield each slot with its new places, and the names of the maps they are on; none where a pool is closed."""
        showcase = self._showcase
        if not showcase.arrays or not showcase.trail_length:
            return
        for worker, slots in enumerate(self._shares):
            names = showcase.map_names(worker)
            for slot in slots:
                trail = showcase.trail(slot, self.ends[slot])
                self.ends[slot] = trail.end
                if len(trail.places):
                    yield slot, trail.places, names

    def is_half_full(self) -> bool:
        """Whether half of what some trail can hold has not been read yet."""
        showcase = self._showcase
        if not showcase.arrays or not showcase.trail_length:
            return False
        ahead = (showcase.arrays["trail_end"] - self.ends).max()
        return bool(ahead > showcase.trail_length // 2)
