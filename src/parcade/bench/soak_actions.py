"""Actions for a soak: random ones, and now and then a title's own script that saves the game inside the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.env.make import make_game
from parcade.env.spec import EnvSpec
from parcade.pool.progress import StepRows

SAVES_PER_STEP = 1 / 200  # how often a slot that plays at random begins the script
WITH_SAVING = {"meadow": "parcade.game.meadow:MeadowWithStart"}  # titles whose default has no way to the save menu


class Driver:
    """Draws the actions of every slot; the same seed draws the same ones, whatever steps them."""

    def __init__(self, spec: EnvSpec, n_envs: int, seed: int) -> None:
        game = make_game(spec)
        names = [action.name for action in game.actions]
        script: Sequence[str] = getattr(game, "save_script", ())
        self._script = np.array([names.index(name) for name in script], np.int64)
        self._at = np.full(n_envs, -1)  # per slot: which entry of the script comes next, -1 while it plays at random
        self._rng, self._n_actions = np.random.default_rng([seed, 7]), len(names)

    def actions(self, slots: Any) -> npt.NDArray[np.int64]:
        """Return the next action of each of ``slots``."""
        actions = self._rng.integers(self._n_actions, size=len(slots))
        if len(self._script):
            at = self._at[slots]
            at[(at < 0) & (self._rng.random(len(slots)) < SAVES_PER_STEP)] = 0
            scripted = at >= 0
            actions[scripted] = self._script[at[scripted]]
            at[scripted] += 1
            at[at == len(self._script)] = -1
            self._at[slots] = at
        return actions


class SaveCount:
    """Sums the metric ``saves`` over episodes; titles without it have none to count."""

    def __init__(self, metric_names: Sequence[str]) -> None:
        self._column = metric_names.index("saves") if "saves" in metric_names else None
        self.ended = 0  # saves written in episodes that are over

    def add(self, rows: StepRows) -> None:
        """Count the episodes that ended in this step."""
        if self._column is not None:
            over = rows.terminated | rows.truncated
            if over.any():
                self.ended += int(rows.metrics[over.astype(bool), self._column].sum())

    def total(self, pool: Any) -> int | None:
        """Return all saves, those of the running episodes with them; None where there is nothing to count."""
        if self._column is None:
            return None
        running = (pool.call(slot, "call", "episode_metrics")[self._column] for slot in range(pool.n_envs))
        return self.ended + int(sum(running))


def soak_spec(game: str, **options: Any) -> EnvSpec:
    """Return the env of a soak: the title, in the form that can save inside the game where there is one."""
    return EnvSpec(game=WITH_SAVING.get(game, game), **options)
