"""A pool whose slots play by themselves, as `train` plays small policies, with random actions."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from parcade.pool.process_pool import ProcessPool
from parcade.pool.protocol import Array, Choose

STRETCH = 32  # steps; a training's rollout is longer


@dataclass(frozen=True, slots=True)
class RandomPlayer:
    """Chooses one of n, each as often."""

    n: int
    n_weights: int = 0

    def prepare(self, weights: Array, seed: int, slots: range, n_steps: int) -> Choose:
        """Draw all actions before the first step; a slot's are the same whoever runs it."""
        actions = np.random.default_rng([seed]).integers(self.n, size=(slots.stop, n_steps))[slots.start :].T
        return lambda step, rows: actions[step]


class FragmentContender:
    """Someone else's pool, measured in stretches."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool, self._player, self._next = pool, RandomPlayer(int(pool.action_space.n)), 0

    def turn(self, seconds: float) -> float:
        """Play for about ``seconds``."""
        n, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            self._pool.play(self._player, np.zeros(0), self._next, STRETCH)
            self._next += 1
            n += STRETCH * self._pool.n_envs
        return n / (time.perf_counter() - started)

    def close(self) -> None:
        """The pool is closed by who opened it."""
