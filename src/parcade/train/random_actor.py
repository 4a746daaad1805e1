"""Chance as an actor: what a policy has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.env.action_batches import stacked
from parcade.pool.actor import ActorRows, ActorShape, Array, Choose


@dataclass(frozen=True)
class RandomActor:
    """Draws any action of the space, for each step of an episode the same in any process."""

    action_space: spaces.Space[Any]

    @property
    def shape(self) -> ActorShape:
        """It keeps nothing, and chooses for one slot as quickly as for many."""
        return ActorShape(n_together=1)

    def prepare(self, weights: Array, seed: int, slots: range) -> Choose:
        """Return what draws the actions of these slots."""
        space = self.action_space

        def choose(rows: ActorRows) -> Any:
            drawn = []
            for episode, step in zip(rows.episode_seed.tolist(), rows.episode_step.tolist(), strict=True):
                space.seed(int(np.random.SeedSequence([seed, episode, step]).generate_state(1)[0]))
                drawn.append(space.sample())
            return stacked(space, drawn)

        return choose
