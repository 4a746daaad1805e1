"""Settings of exploration: where episodes begin, and what is new."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from parcade.config.fields import setting


class ExploreFields(BaseModel):
    """The settings that ``parcade.explore`` works by; all are off by default."""

    novelty: float = setting(0.0, "explore", "weight of the bonus for reaching new cells; 0: none", ge=0)
    novelty_kind: Literal["episodic", "lifetime", "both", "rnd"] = setting(
        "episodic",
        "explore",
        "episodic pays for cells new in the episode, lifetime 1/sqrt(n) for the n-th visit in the training, both for "
        "the first visit in an episode by lifetime counts, rnd for observations that a network cannot predict yet",
    )
    archive_share: float = setting(
        0.0, "explore", "share of the training episodes that begin at a start found before; 0: no archive", ge=0, le=1
    )
    archive_strategy: Literal["count", "uniform", "frontier", "milestone"] = setting(
        "count",
        "explore",
        "how starts are chosen: rarely reached cells more often, all alike, the newest, or those of milestones",
    )
    archive_size: int = setting(2_000, "explore", "most starts that the archive holds", ge=1, le=1_000_000)
    cell_kind: Literal["state", "picture"] = setting(
        "state", "explore", "what tells cells apart: the title's memory, or a tiny copy of the picture (pixels only)"
    )
    clone_updates: int = setting(
        10, "explore", "with demonstrations and ppo: updates of cloning before the first of ppo", ge=0
    )
    backward_share: float = setting(
        0.5,
        "explore",
        "with demonstrations and ppo: share of the episodes that begin inside one, from its end backwards",
        ge=0,
        le=1,
    )
