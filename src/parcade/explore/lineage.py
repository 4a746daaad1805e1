"""Lineage: what every slot has done since the true start of its episode, through the start it began at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.pool.block import Block
from parcade.pool.seeding import Start

Actions = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The rows of one episode in a block, of one slot: ``first`` to ``stop``."""

    slot: int
    episode: int
    seed: int  # the env seed at the true start
    before: Actions  # the actions between the true start and row ``first``
    first: int
    stop: int
    ended: bool  # the last row ends the episode

    def until(self, row: int, block: Block) -> Start:
        """Return the start that lies behind row ``row``."""
        rows = slice(self.first, row + 1)
        joined = {leaf: np.concatenate([old, block.action[leaf][rows, self.slot]]) for leaf, old in self.before.items()}
        return Start(self.seed, joined)

    @property
    def steps_before(self) -> int:
        """Steps between the true start and row ``first``."""
        return len(next(iter(self.before.values())))


class Lineage:
    """Follows all slots from block to block."""

    def __init__(self, starts: list[Start], episodes: list[int]) -> None:
        self._now = starts  # slot by slot: env seed and actions since the true start
        self._episode = episodes

    def follow(self, block: Block, start_of: Mapping[tuple[int, int], Start], seeds: Any) -> Iterator[Segment]:
        """Yield the segments of a block, slot by slot in the order of time, and stand at its end afterwards.

        ``start_of`` tells where episodes began, ``seeds(slot, episode)`` the env seed of one that began at its true
        start.
        """
        ended = block.ended
        for slot in range(block.n_envs):
            first = 0
            for row in [*np.flatnonzero(ended[:, slot]).tolist(), None]:
                stop = block.n_steps if row is None else row + 1
                if stop > first:
                    yield self._segment(slot, first, stop, ended=row is not None)
                if row is not None:
                    episode = int(block.episode[row, slot])
                    begun = start_of.get((slot, episode))
                    self._episode[slot] = episode
                    self._now[slot] = begun if begun is not None else _true_start(seeds(slot, episode), block)
                first = stop if row is not None else first
            if first < block.n_steps:
                self._now[slot] = self._segment(slot, first, block.n_steps, ended=False).until(block.n_steps - 1, block)

    def _segment(self, slot: int, first: int, stop: int, *, ended: bool) -> Segment:
        now = self._now[slot]
        return Segment(slot, self._episode[slot], now.seed, now.actions, first, stop, ended)


def _true_start(seed: int, block: Block) -> Start:
    return Start(seed, {leaf: array[:0, 0] for leaf, array in block.action.items()})
