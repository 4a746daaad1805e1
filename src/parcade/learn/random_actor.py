"""Chance as an actor: what a policy has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.pool.actor import ActorRows, ActorShape, Array, Choose


@dataclass(frozen=True)
class RandomActor:
    """Draws any action of the space, for each step of an episode the same in any process."""

    action_space: spaces.Space[Any]

    @property
    def shape(self) -> ActorShape:
        """It keeps nothing."""
        return ActorShape()

    def prepare(self, weights: Array, seed: int, slots: range) -> Choose:
        """Return what draws the actions of these slots."""
        space = self.action_space

        def choose(rows: ActorRows) -> Any:
            drawn = []
            for episode, step in zip(rows.episode_seed.tolist(), rows.episode_step.tolist(), strict=True):
                space.seed(int(np.random.SeedSequence([seed, episode, step]).generate_state(1)[0]))
                drawn.append(space.sample())
            return _stacked(space, drawn)

        return choose


def _stacked(space: spaces.Space[Any], values: list[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _stacked(part, [value[key] for value in values]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_stacked(part, [value[i] for value in values]) for i, part in enumerate(space.spaces))
    return np.stack([np.asarray(value) for value in values])
