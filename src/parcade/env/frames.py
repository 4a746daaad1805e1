"""The frames of one step: an action repeated, by chance too, what is seen at the end, and lives."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from parcade.env.atari import NOOP, AtariFrames
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.slot import number_of, truth_of

_CHANCE = 0x57AC  # sets what is drawn here apart from what the env draws from the same seed


class Taken(NamedTuple):
    """What the frames of a step came to; rewards and costs are sums."""

    observation: Any
    reward: float
    cost: float
    terminated: bool
    truncated: bool


class StepFrames:
    """Plays an env in steps of ``per_step`` frames.

    An env that can step without drawing (``advance`` and ``observe``, as our CarRacing and Atari games) draws only the
    frames that are looked at: the last one, and with ``max_over_frames`` the one before. All chance comes from the
    episode's seed.
    """

    def __init__(self, env: gym.Env[Any, Any], wanted: Preprocessing) -> None:
        self._env, self._atari = env, env if isinstance(env, AtariFrames) else None
        inner: Any = env if self._atari is not None else env.unwrapped
        self._lazy: Any = inner if hasattr(inner, "advance") and hasattr(inner, "observe") else None
        self._has_costs = self._lazy is not None and hasattr(type(inner), "frame_cost")
        own_skip, own_stickiness = (1, 0.0) if self._atari is None else (env.own_skip, env.own_stickiness)  # type: ignore[attr-defined]
        self.per_step = (wanted.frame_skip or 1) * own_skip
        self._stickiness = own_stickiness if wanted.sticky_actions is None else wanted.sticky_actions
        self._sees_two = wanted.max_over_frames and self.per_step > 1
        self._noop_max, self._fires = wanted.noop_max, wanted.fire_on_reset
        self._ends_with_life = wanted.terminal_on_life_loss
        self._rng = np.random.default_rng()
        self._held: Any = None  # the action of the last frame
        self._seen: Any = None  # what an env that always draws returned last
        self._before: Any = None  # the picture of the last frame but one
        self._sums = 0.0, 0.0, False, False  # reward, cost, terminated and truncated of the step
        self._lives, self._must_fire = 0, False
        self.info: dict[str, Any] = {}  # what the env told last

    @property
    def is_lazy(self) -> bool:
        """Whether the env is stepped past its wrappers."""
        return self._lazy is not None

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        """Start an episode and return what is seen first."""
        observation, self.info = self._env.reset(seed=seed, options=options)
        if self._stickiness or self._noop_max:
            drawn = int(self._env.np_random.integers(1 << 31)) if seed is None else seed
            self._rng = np.random.default_rng([drawn, _CHANCE])
        self._held = None
        return observation if self._atari is None else self._start(self._atari)

    def _start(self, atari: AtariFrames) -> Any:
        """Let some frames pass without an action, then press FIRE; a game that ends meanwhile begins anew."""
        noops = int(self._rng.integers(1, self._noop_max + 1)) if self._noop_max else 0
        fires = self.per_step if self._fires and atari.fire is not None else 0
        for action in [NOOP] * noops + [atari.fire or NOOP] * fires:
            _, terminated, truncated = atari.advance(action)
            if terminated or truncated:
                atari.restart()
        self._held, self._must_fire, self._lives = NOOP, False, atari.lives
        self.info = atari.last_info
        return atari.observe()

    def run(self, action: Any) -> None:
        """Take a step's frames; the end of the episode ends them too."""
        lazy, stickiness = self._lazy, self._stickiness
        if self._must_fire:
            action, stickiness, self._must_fire = self._atari.fire, 0.0, False  # type: ignore[union-attr]
        total, cost, terminated, truncated = 0.0, 0.0, False, False
        self._before = None
        for left in range(self.per_step - 1, -1, -1):
            if not stickiness or self._held is None or self._rng.random() >= stickiness:
                self._held = action
            if lazy is not None:
                reward, terminated, truncated = lazy.advance(self._held)
            else:
                self._seen, reward, terminated, truncated, self.info = self._env.step(self._held)
            total += number_of(reward)
            terminated, truncated = truth_of(terminated, "terminated"), truth_of(truncated, "truncated")
            if self._has_costs:
                cost += lazy.frame_cost
            if terminated or truncated:
                break
            if left == 1 and self._sees_two:
                self._before = self._seen if lazy is None else lazy.observe()
        self._sums = total, cost, terminated, truncated

    def look(self) -> Taken:
        """Return what the frames came to, with what is seen now."""
        total, cost, terminated, truncated = self._sums
        observation = self._seen if self._lazy is None else self._lazy.observe()
        if self._before is not None:
            observation = np.maximum(self._before, observation)
        if self._atari is not None:
            self.info = self._atari.last_info
            terminated = self._count_lives(self._atari.lives) or terminated
        return Taken(observation, total, cost, terminated, truncated)

    def _count_lives(self, lives: int) -> bool:
        """Return whether the loss of a life ends the episode; else FIRE is pressed in the next step, if asked for."""
        is_lost, self._lives = 0 < lives < self._lives, lives
        self._must_fire = is_lost and self._fires and self._atari is not None and self._atari.fire is not None
        return is_lost and self._ends_with_life
