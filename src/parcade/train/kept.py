"""Episodes of a training on their way into its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parcade.env.milestones import told_milestones
from parcade.env.spec import EnvSpec
from parcade.pool.block import Block, Episode
from parcade.pool.pool import Pool
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord
from parcade.run.kept_choice import Candidate
from parcade.run.kept_episodes import KeptEpisodes
from parcade.train.ended import guide_of, record_of, start_of, whole_episodes
from parcade.train.origin import origin_of

SUCCESS = "success"


class EndedEpisode(NamedTuple):
    """An episode that ended in a block, and its place in the training."""

    episode: Episode
    number: int  # of all episodes of the training, from 1 on
    env_steps: int


class EpisodeKeeper:
    """Hands the episodes of each update to the run's folder; most of them are only looked at."""

    def __init__(self, folder: Path, budget_mb: float, pool: Pool) -> None:
        self.kept = KeptEpisodes(folder, budget_mb, milestones_of(pool.spec))
        self.pool, self._origin = pool, origin_of(pool.spec, "training")

    def note(self, block: Block, ended: Sequence[EndedEpisode]) -> None:
        """Look at the episodes that ended in the newest block, before the next one is finished."""
        pool = self.pool
        whole = {(episode.slot, episode.step) for episode in whole_episodes(pool, (one.episode for one in ended))}
        by_number = {one.number: one for one in ended if (one.episode.slot, one.episode.step) in whole}

        def take(number: int) -> EpisodeRecord:
            episode, _, env_steps = by_number[number]
            place = {"slot": episode.slot, "slot_episode": episode.number, "env_steps": env_steps}
            return record_of(pool, block, episode, self._origin_of(episode), number=number, **place)

        candidates = [
            Candidate(number, one.episode.total_reward, one.episode.metrics, start_of(pool, one.episode) is None)
            for number, one in by_number.items()
        ]
        self.kept.offer(candidates, take)

    def _origin_of(self, episode: Episode) -> EpisodeOrigin:
        """Return what an episode was played in: the run's env, with the guide that it followed."""
        version = guide_of(self.pool, episode)
        if version is None or version.number == 0:
            return self._origin
        return replace(self._origin, env={**self._origin.env, "guide": version.data})


def milestones_of(spec: EnvSpec) -> dict[str, str]:
    """Return what an episode can be the first to reach, with the metric that tells it."""
    named = {milestone.name: milestone.metric for milestone in told_milestones(spec)}
    return {**({} if SUCCESS in named.values() else {SUCCESS: SUCCESS}), **named}
