"""Which episodes a pool plays: the env seed of each is a function of its slot and its number, and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Episodes(Protocol):
    """The env seed of every episode."""

    def seed(self, slot: int, episode: int) -> int | None:
        """Return the env seed of an episode; None where the slot has no more to play."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingEpisodes:
    """Episodes without end."""

    run_seed: int

    def seed(self, slot: int, episode: int) -> int:
        """Return a seed below 2**31, so never a held-out one."""
        return episode_seed(self.run_seed, slot, episode)


@dataclass(frozen=True, slots=True)
class NumberedEpisodes:
    """``n_episodes`` with seeds one after the other, dealt out to the slots in turn."""

    first_seed: int
    n_slots: int
    n_episodes: int

    def number(self, slot: int, episode: int) -> int:
        """Return which of all episodes it is."""
        return slot + episode * self.n_slots

    def seed(self, slot: int, episode: int) -> int | None:
        """Return the seed of the slot's share of the episodes."""
        number = self.number(slot, episode)
        return self.first_seed + number if number < self.n_episodes else None

    def are_over(self, episodes: npt.NDArray[np.int64]) -> bool:
        """Whether no slot has anything left to play, given the episode each is in; skipped ones are over too."""
        return bool((np.arange(self.n_slots) + episodes * self.n_slots >= self.n_episodes).all())


def episode_seed(run_seed: int, slot: int, episode: int) -> int:
    """Return the env seed of episode ``episode`` of ``slot``; below 2**31, so never a held-out one.

    >>> episode_seed(1, 0, 0) == episode_seed(1, 0, 0) != episode_seed(1, 0, 1)
    True
    """
    words = np.random.SeedSequence([run_seed, slot, episode]).generate_state(1, np.uint32)
    return int(words[0]) >> 1
