"""A guide in an env: what it pays, what it shows the policy, what it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import SettingsError
from parcade.game.base import Game
from parcade.game.guide import GuideMilestone, guide_milestones, room_of
from parcade.game.milestone import MilestoneTracker

PART = "guide"  # of the reward
PREFIX = "guide_"  # of its metrics and features
NEXT, REACHED = 1.0, -1.0  # what a feature is; 0 is one that is not open yet


class EpisodeGuide(MilestoneTracker):
    """A guide's milestones in one env's episodes. What holds in the first moment is reached and pays nothing.

    A coach may exchange it between two episodes: the places stay, and with them features and metrics.
    """

    def __init__(self, data: Mapping[str, Any], game: Game[Any, Any]) -> None:
        self._game, self.version = game, 0
        milestones = self._take(data)
        self.metric_names = guide_metrics(data, milestones)
        self.features: npt.NDArray[np.float32] = np.zeros(len(self.metric_names), np.float32)

    def _take(self, data: Mapping[str, Any]) -> tuple[GuideMilestone, ...]:
        milestones = guide_milestones(data, self._game)
        super().__init__(milestones, self._game.fields)
        self._rewards = [milestone.reward for milestone in milestones]
        return milestones

    def use(self, version: int, data: Mapping[str, Any]) -> None:
        """Follow this version of the guide in the episodes that begin from now on."""
        if version == self.version:
            return
        if guide_places(data) != len(self.metric_names):
            raise SettingsError(f"version {version} of the guide has other places than the first one")
        self._take(data)
        self.version = version

    def begin(self, progress: Any, state: Any) -> None:
        """Begin an episode."""
        super().begin(progress, state)
        self._show()

    def go_back(self, reached: int) -> None:
        """Go back to a moment of an episode."""
        super().go_back(reached)
        self._show()

    def pay(self, progress: Any, before: Any, after: Any) -> float:
        """Return what the milestones are worth that this step has reached."""
        new = self.step(progress, before, after)
        if not new:
            return 0.0
        self._show()
        return sum(self._rewards[number] for number in new)

    def metrics(self) -> list[float]:
        """Return the values of ``metric_names``."""
        return [float(self.reached >> number & 1) for number in range(len(self.metric_names))]

    def _show(self) -> None:
        self.features[:] = [REACHED if self.reached >> number & 1 else 0.0 for number in range(len(self.features))]
        self.features[list(self.open)] = NEXT


def guide_places(data: Mapping[str, Any]) -> int:
    """Return how many places a guide has."""
    return room_of(data).all


def guide_metrics(data: Mapping[str, Any], milestones: tuple[GuideMilestone, ...]) -> tuple[str, ...]:
    """Return the name under which each place is told, as metric and as feature; a coach's places have numbers."""
    room = room_of(data)
    own = [f"{PREFIX}{milestone.name}" for milestone in milestones[: room.own]]
    return (*own, *(f"{PREFIX}place_{number}" for number in range(1, room.places + 1)))
