"""Milestones of a title in an env: which ones an episode has reached, and under which metric each is told."""

from __future__ import annotations

from typing import Any, NamedTuple

from parcade.env.guide import PART, PREFIX, guide_metrics
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.game.base import Game
from parcade.game.guide import guide_milestones
from parcade.game.milestone import MilestoneTracker
from parcade.game.titles import find_title


class ToldMilestone(NamedTuple):
    """A milestone as runs tell it: the share of episodes that reach it is the mean of ``metric``."""

    name: str
    metric: str
    words: str


class TitleMilestones(MilestoneTracker):
    """A title's own; ``metric_names`` are those that the game does not have itself."""

    def __init__(self, game: Game[Any, Any]) -> None:
        try:
            super().__init__(game.milestones, game.fields)
        except SettingsError as error:
            raise SettingsError(f"{game.name}: {error}") from None
        told = list(enumerate(game.milestone_metrics.values()))
        self._counted = [number for number, metric in told if metric not in game.metric_names]
        self.metric_names = tuple(metric for number, metric in told if number in self._counted)

    def metrics(self) -> list[float]:
        """Return the values of ``metric_names``."""
        return [float(self.reached >> number & 1) for number in self._counted]


def told_milestones(spec: EnvSpec) -> tuple[ToldMilestone, ...]:
    """Return all milestones of an env in their order: those of the title, then those of its guide."""
    return tuple(one for told in tracked_milestones(spec).values() for one in told)


def tracked_milestones(spec: EnvSpec) -> dict[str, tuple[ToldMilestone, ...]]:
    """Return the milestones by the name of the pool's status whose bit i tells the i-th of them."""
    if spec.game is None:
        return {}
    game = find_title(spec.game, spec.game_options)
    own = game.milestone_metrics
    told = {"milestones": tuple(ToldMilestone(one.name, own[one.name], one.words) for one in game.milestones)}
    if spec.guide is not None:
        guided = guide_milestones(spec.guide, game)
        metrics = guide_metrics(spec.guide, guided)  # of places; a coach may have left some of them free
        told[PART] = tuple(
            ToldMilestone(f"{PREFIX}{one.name}", metric, one.hint) for metric, one in zip(metrics, guided, strict=False)
        )
    return told
