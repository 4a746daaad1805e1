"""Which episodes a pool plays: the env seed of each is a function of its slot and its number, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parcade.errors import SettingsError


class Episodes(Protocol):
    """The env seed of every episode.

    One with a method ``options(slot, episode)`` has reset options too, one with ``start(slot, episode)`` starts.
    """

    def seed(self, slot: int, episode: int) -> int | None:
        """Return the env seed of an episode; None where the slot has no more to play."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingEpisodes:
    """Episodes without end; ``first_slot`` is what the pool's slot 0 is called in the whole training."""

    run_seed: int
    first_slot: int = 0

    def seed(self, slot: int, episode: int) -> int:
        """Return a seed below 2**31, so never a held-out one."""
        return episode_seed(self.run_seed, self.first_slot + slot, episode)


@dataclass(frozen=True, slots=True)
class ListedEpisodes:
    """Episodes without end: each slot's first one has the seed of a list."""

    seeds: tuple[int, ...]

    def seed(self, slot: int, episode: int) -> int:
        """Return the slot's own seed, then one made of it."""
        own = self.seeds[slot]
        return own if episode == 0 else episode_seed(own, slot, episode)


@dataclass(frozen=True, slots=True)
class EpisodesWithOptions:
    """Episodes of which one in each slot, the one that ``first`` numbers, begins with reset options."""

    episodes: Episodes
    first: tuple[int, ...]
    each: tuple[Mapping[str, Any] | None, ...]

    def seed(self, slot: int, episode: int) -> int | None:
        """Return the seed it has without options."""
        return self.episodes.seed(slot, episode)

    def options(self, slot: int, episode: int) -> Mapping[str, Any] | None:
        """Return the reset options of an episode."""
        return self.each[slot] if episode == self.first[slot] else None


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where an episode begins: after ``actions`` (leaf name -> (steps, ...)) of the episode with this env seed."""

    seed: int
    actions: Mapping[str, npt.NDArray[Any]]

    @property
    def n_steps(self) -> int:
        """Steps between the true start and this one."""
        return len(next(iter(self.actions.values())))


@dataclass(frozen=True, slots=True, eq=False)
class GuideVersion:
    """A guide as it was between two revisions: each slot follows it from the episode that ``first`` numbers on."""

    number: int
    data: Mapping[str, Any]
    first: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EpisodesFromStarts:
    """Episodes of a run seed of which some, by slot and number, begin elsewhere than at the true start.

    Their seeds stay their own: the noise of their actions follows from them. ``guides`` are versions of the guide, the
    oldest first: an episode follows the same one from its first step to its last.
    """

    episodes: TrainingEpisodes
    starts: Mapping[tuple[int, int], Start]
    guides: tuple[GuideVersion, ...] = ()

    def seed(self, slot: int, episode: int) -> int:
        """Return the seed it has at the true start."""
        return self.episodes.seed(slot, episode)

    def start(self, slot: int, episode: int) -> Start | None:
        """Return where an episode begins; None: at its true start."""
        return self.starts.get((slot, episode))

    def guide(self, slot: int, episode: int) -> GuideVersion | None:
        """Return the guide that an episode follows; None: that of the env's spec."""
        return next((version for version in reversed(self.guides) if version.first[slot] <= episode), None)


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


def episodes_of(seed: int | Sequence[int] | None, present: Episodes, n_slots: int) -> Episodes:
    """Return the episodes of a run seed, of a list of seeds, or without either the present ones."""
    if seed is None:
        return present.episodes if isinstance(present, EpisodesWithOptions | EpisodesFromStarts) else present
    is_list = isinstance(seed, Sequence)
    seeds = list(seed) if isinstance(seed, Sequence) else [seed]
    fits = all(isinstance(one, int | np.integer) and one >= 0 for one in seeds)
    if not fits or (is_list and len(seeds) != n_slots):
        raise SettingsError(f"seed is {seed!r}, wanted one whole number from 0 on, or {n_slots} of them")
    return ListedEpisodes(tuple(map(int, seeds))) if is_list else TrainingEpisodes(int(seeds[0]))


def with_options(
    episodes: Episodes, first: Sequence[int], options: Sequence[Mapping[str, Any] | None] | None
) -> Episodes:
    """Return the episodes of which those that ``first`` numbers, slot by slot, begin with options."""
    if options is None or not any(options):
        return episodes
    if len(options) != len(first):
        raise SettingsError(f"options holds {len(options)} entries, wanted one for each of {len(first)} slots")
    return EpisodesWithOptions(episodes, tuple(first), tuple(one or None for one in options))


def episode_seed(run_seed: int, slot: int, episode: int) -> int:
    """Return the env seed of episode ``episode`` of ``slot``; below 2**31, so never a held-out one.

    >>> episode_seed(1, 0, 0) == episode_seed(1, 0, 0) != episode_seed(1, 0, 1)
    True
    """
    words = np.random.SeedSequence([run_seed, slot, episode]).generate_state(1, np.uint32)
    return int(words[0]) >> 1
