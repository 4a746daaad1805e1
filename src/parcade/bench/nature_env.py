"""A title seen as 84 x 84 grey pictures, four of them: the format most published results use. For benches only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import gymnasium as gym
import numpy as np
from gymnasium import spaces

from parcade.env.console_env import ConsoleEnv
from parcade.env.make import make
from parcade.env.slot import WHOLE, Rows
from parcade.env.spec import EnvSpec

ENV_ID = "ParcadeBench/Nature-v0"
SIZE, STACK = 84, 4


class NatureEnv(gym.Env[Any, Any]):
    """A console env whose observation is (4, 84, 84) uint8, scaled by area from the whole picture."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, game: str = "lantern") -> None:
        inner = make(EnvSpec(game=game, observation="pixels"))
        assert isinstance(inner, ConsoleEnv)
        self._inner = inner
        self.action_space, self.metric_names = inner.action_space, inner.metric_names
        self.observation_space = spaces.Box(0, 255, (STACK, SIZE, SIZE), np.uint8)
        self._inner_rows = {WHOLE: np.empty(inner.observation_space.shape or (), np.uint8)}
        self._stack = np.zeros((STACK, SIZE, SIZE), np.uint8)
        self._seeds = np.random.default_rng()

    def begin(self, seed: int, rows: Rows) -> None:
        """Start the episode of ``seed``; pictures before its first are black."""
        self._inner.begin(seed, self._inner_rows)
        self._stack[:] = 0
        self._write(rows)

    def advance(self, action: Any, rows: Rows) -> tuple[float, bool, bool]:
        """Take one step."""
        outcome = self._inner.advance(action, self._inner_rows)
        self._write(rows)
        return outcome

    def _write(self, rows: Rows) -> None:
        grey = np.ascontiguousarray(self._inner.console.screen()[..., 0])
        self._stack[:-1] = self._stack[1:]
        cv2.resize(grey, (SIZE, SIZE), dst=self._stack[-1], interpolation=cv2.INTER_AREA)
        rows[WHOLE][...] = self._stack

    def episode_metrics(self) -> Sequence[float]:
        """Return the game's metrics."""
        return self._inner.episode_metrics()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the episode of ``seed``, or of the next seed of this env's own sequence."""
        super().reset(seed=seed)
        if seed is not None:
            self._seeds = np.random.default_rng([seed])
        rows = {WHOLE: np.empty_like(self._stack)}
        self.begin(int(self._seeds.integers(1 << 31)), rows)
        return rows[WHOLE], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step into a fresh array."""
        rows = {WHOLE: np.empty_like(self._stack)}
        reward, terminated, truncated = self.advance(action, rows)
        return rows[WHOLE], reward, terminated, truncated, {}

    def close(self) -> None:
        """Close the console."""
        self._inner.close()


def register_nature_env() -> None:
    """Make the env known to Gymnasium without any wrapper, so that a pool steps it in place."""
    if ENV_ID not in gym.registry:
        gym.register(ENV_ID, "parcade.bench.nature_env:NatureEnv", disable_env_checker=True, order_enforce=False)


register_nature_env()  # the one import with an effect: `imports=` names this module to register the id
