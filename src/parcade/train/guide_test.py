"""A guide on recorded episodes: where each of its milestones fired."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.env.console_env import ConsoleEnv
from parcade.env.guide import PART
from parcade.env.replay import EpisodeReplay, open_replay
from parcade.errors import EpisodeFileError
from parcade.run.directory import RunFolder
from parcade.run.episodes import EpisodeRecord, read_episodes
from parcade.run.kept_episodes import read_index


@dataclass(frozen=True, slots=True)
class Firing:
    """A milestone that fired in one episode, after ``step`` of its steps; 0: it held when the episode began."""

    milestone: str
    episode: int
    step: int
    words: str | None  # the moment, as the title tells it


@dataclass(frozen=True, slots=True)
class MilestoneFirings:
    """What became of one milestone in all episodes."""

    name: str
    firings: tuple[Firing, ...]

    @property
    def median_step(self) -> float | None:
        """The step at which it fired in half of the episodes that it fired in; None where it never did."""
        return statistics.median(firing.step for firing in self.firings) if self.firings else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        fired = [{"episode": one.episode, "step": one.step, "words": one.words} for one in self.firings]
        return {"name": self.name, "episodes": len(fired), "median_step": self.median_step, "fired": fired}


def recorded_episodes(path: str | Path) -> list[EpisodeRecord]:
    """Return the kept episodes of a run's folder, or the episodes of a file."""
    if not Path(path).is_dir():
        return read_episodes(path)
    index = read_index(RunFolder.open(path).episodes)
    return [index.load(number) for number in sorted(index.facts)]


def fire(
    guide: Mapping[str, Any], records: Sequence[EpisodeRecord], where: str, named: Mapping[str, Any]
) -> Iterator[list[Firing]]:
    """Play each episode again with ``guide`` and yield what fired in it, in the order of the steps.

    ``named`` are what the file ``where`` alone is not trusted for, as for ``open_replay``.
    """
    for index, record in enumerate(records):
        if record.origin.env.get("game") is None:
            raise EpisodeFileError(f"{where} was played in {record.origin.env.get('env_id')}; guides are for games")
        with open_replay(record, where, {**named, "guide": guide}, render=False) as played:
            yield list(_firings(played, record.number or index + 1))


def _firings(played: EpisodeReplay, episode: int) -> Iterator[Firing]:
    assert isinstance(played.env, ConsoleEnv)
    tracker, known = played.env.trackers[PART], 0
    while True:
        new, known = tracker.reached & ~known, tracker.reached
        for number, name in enumerate(tracker.names):
            if new >> number & 1:
                yield Firing(name, episode, played.position, played.words())
        if not played.step():
            return


def by_milestone(names: Iterable[str], firings: Iterable[Firing]) -> list[MilestoneFirings]:
    """Return what became of each milestone."""
    told = list(firings)
    return [MilestoneFirings(name, tuple(one for one in told if one.milestone == name)) for name in names]
