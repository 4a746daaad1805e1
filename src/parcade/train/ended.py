"""Episodes that ended in a block, as records: their last steps are in the block, the others in the pool's journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from parcade.pool.block import Block, Episode
from parcade.pool.pool import Pool
from parcade.pool.seeding import GuideVersion, Start
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord, compact


def whole_episodes(pool: Pool, episodes: Iterable[Episode]) -> Iterator[Episode]:
    """Yield those of the newest block that can be played again: one that a crash cut has a row more than steps."""
    before, begun = pool.progress.journal.length_at_mark, dict[int, int]()
    for episode in episodes:
        slot, after = episode.slot, episode.step + 1
        rows = after - begun[slot] if slot in begun else after + int(before[slot])
        begun[slot] = after
        if rows == episode.length:
            yield episode


def start_of(pool: Pool, episode: Episode) -> Start | None:
    """Return where an episode of the newest block began; None: at its true start."""
    starts = getattr(pool.played, "start", None)
    found: Start | None = None if starts is None else starts(episode.slot, episode.number)
    return found


def guide_of(pool: Pool, episode: Episode) -> GuideVersion | None:
    """Return the version of the guide that an episode of the newest block followed; None: that of the pool's spec."""
    guides = getattr(pool.played, "guide", None)
    found: GuideVersion | None = None if guides is None else guides(episode.slot, episode.number)
    return found


def record_of(pool: Pool, block: Block, episode: Episode, origin: EpisodeOrigin, **place: Any) -> EpisodeRecord:
    """Return an episode that ended in the newest block; ``place`` says where in a training that was."""
    start, seed = start_of(pool, episode), pool.played.seed(episode.slot, episode.number)
    assert seed is not None
    return EpisodeRecord(
        origin,
        seed if start is None else start.seed,
        compact(pool.progress.journal.ended(episode.slot, episode.step, episode.length)),
        episode.length,
        episode.total_reward,
        terminated=episode.terminated,
        truncated=bool(block.truncated[episode.step, episode.slot]),
        metrics=dict(episode.metrics),
        prefix={} if start is None else compact(start.actions),
        **place,
    )
