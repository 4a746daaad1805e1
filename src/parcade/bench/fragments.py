"""A pool that plays fragments, as `train` does, with random actions."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from parcade.env.spec import EnvSpec
from parcade.pool.actor import ActorRows, ActorShape, Array, Choose
from parcade.pool.process_pool import ProcessPool

STEPS = 128  # of a fragment: the rollout of a training with default settings


@dataclass(frozen=True, slots=True)
class DiceActor:
    """Chooses one of n, each as often."""

    n: int

    @property
    def shape(self) -> ActorShape:
        """It keeps nothing. Of 1 to 32 slots together 16 are quickest: Python comes into the cache once for all."""
        return ActorShape(n_together=16)

    def prepare(self, weights: Array, seed: int, slots: range) -> Choose:
        """Draw all actions before the first step; a slot's are the same whoever runs it."""
        drawn = np.random.default_rng([seed]).integers(self.n, size=(slots.stop, STEPS))
        actions = drawn[slots.start : slots.stop : slots.step].T

        def choose(rows: ActorRows) -> Array:
            return np.asarray(actions[rows.step])

        return choose


class FragmentContender:
    """A pool measured in fragments, all its slots in one group, as `train` opens it."""

    def __init__(self, spec: EnvSpec, n_envs: int, n_workers: int | None = None) -> None:
        self._pool = ProcessPool(spec, n_envs, n_workers=n_workers)
        self._actor, self._next = DiceActor(int(self._pool.action_space.n)), 0  # type: ignore[attr-defined]
        self._pool.reset()

    def turn(self, seconds: float) -> float:
        """Play for about ``seconds``."""
        n, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            self._pool.play(self._actor, np.zeros(0), self._next, STEPS)
            self._next += 1
            n += STEPS * self._pool.n_envs
        return n / (time.perf_counter() - started)

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()
