"""Small envs for the pool's tests: some with unusual spaces, some that die. Workers import this: keep it light."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

KILL = 2  # the action that kills a faulty env


class Toy(gym.Env):
    """A walk decided by seed and actions alone; an episode lasts 5 to 14 steps."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space: Any = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space: Any = spaces.Discrete(3)
    render_mode = "rgb_array"
    level = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.last_action = None
        self._place = self.np_random.normal(size=4)
        self._steps, self._limit = 0, int(self.np_random.integers(5, 15))
        return self._observe(), {}

    def step(self, action):
        self._steps += 1
        self._place += self.np_random.normal(size=4) * self.level + float(np.sum(number(action)))
        reward = float(self._place[0])
        over = self._steps >= self._limit
        return self._observe(), reward, over and self._limit % 2 == 0, over and self._limit % 2 == 1, {}

    def _observe(self) -> Any:
        return self._place.astype(np.float32)

    def render(self):
        return np.full((6, 8, 3), self._steps, np.uint8)

    def sum_of(self, *values, plus=0):
        return sum(values) + plus


class Telling(Toy):
    """Tells numbers, a flag and an action mask in its infos, keeps its reset options, and has MaskablePPO's masks."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed)
        self.options = dict(options or {})
        return observation, {"seed": seed if seed is not None else -1, "action_mask": self.action_masks()}

    def step(self, action):
        observation, reward, terminated, truncated, _ = super().step(action)
        info = {"steps": self._steps, "action_mask": self.action_masks(), "inner": {"half": self._steps / 2}}
        if terminated or truncated:
            info |= {"is_success": terminated, "tale": "over"}
        return observation, reward, terminated, truncated, info

    def action_masks(self):
        return np.array([True, self._steps % 2 == 0, True])


def number(action: Any) -> np.ndarray:
    """Return an action of any space as one flat array."""
    if isinstance(action, dict):
        return np.concatenate([number(part) for part in action.values()])
    if isinstance(action, tuple):
        return np.concatenate([number(part) for part in action])
    return np.ravel(np.asarray(action, float))


class DictObs(Toy):
    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "inner": spaces.Dict({"steps": spaces.Discrete(100), "bits": spaces.MultiBinary(3)}),
        }
    )

    def _observe(self):
        bits = (self._place[:3] > 0).astype(np.int8)
        return {"place": self._place[:2].copy(), "inner": {"steps": self._steps, "bits": bits}}


class TupleObs(Toy):
    observation_space = spaces.Tuple((spaces.Discrete(100), spaces.Box(-np.inf, np.inf, (2, 2), np.float32)))

    def _observe(self):
        return self._steps, self._place.astype(np.float32).reshape(2, 2)


class BigObs(Toy):
    observation_space = spaces.Box(0, 255, (512, 512, 3), np.uint8)

    def _observe(self):
        return np.full((512, 512, 3), int(abs(self._place[0]) * 100) % 251, np.uint8)


class MultiActions(Toy):
    action_space = spaces.MultiDiscrete([3, 5])


class BinaryActions(Toy):
    action_space = spaces.MultiBinary(4)


class BoxActions(Toy):
    action_space = spaces.Box(-1, 1, (2,), np.float32)


class TreeActions(Toy):
    """Actions in a Dict with a Tuple inside; keeps the last one, which nobody may change."""

    action_space = spaces.Dict(
        {"obs": spaces.Discrete(3), "pair": spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.MultiBinary(2)))}
    )

    def step(self, action):
        before = number(self.last_action).sum() if self.last_action is not None else 0.0
        self.last_action = action
        observation, reward, *rest = super().step(action)
        return observation, reward + before, *rest


class PairActions(Toy):
    """Keeps the last action of a Tuple space, to see who was given what."""

    action_space = spaces.Tuple((spaces.Discrete(3), spaces.Discrete(4)))

    def step(self, action):
        self.last_action = action
        return super().step(action)


class Slow(Toy):
    """Steps of uneven length: one in four sleeps ten times as long."""

    def __init__(self, base_s: float = 0.002) -> None:
        self._base_s = base_s

    def step(self, action):
        time.sleep(self._base_s * (10 if self.np_random.random() < 0.25 else 1))
        return super().step(action)


class Faulty(Toy):
    """Dies in its constructor, in reset (of some seeds) or in step (of the action KILL).

    With ``marker`` it dies only while that file does not exist, and makes it: once in all its lives.
    """

    def __init__(self, where: str = "step", marker: str | None = None, seeds: tuple[int, ...] = ()) -> None:
        self._where, self._marker, self._seeds = where, marker, seeds
        if where == "make":
            self._die()

    def reset(self, *, seed=None, options=None):
        if self._where == "reset" and (seed in self._seeds or not self._seeds):
            self._die()
        return super().reset(seed=seed)

    def step(self, action):
        if self._where == "step" and int(np.sum(action)) == KILL:
            self._die()
        return super().step(action)

    def _die(self):
        if self._marker is not None:
            if os.path.exists(self._marker):
                return
            open(self._marker, "x").close()
        self.fail()

    def fail(self):
        raise NotImplementedError


class Raise(Faulty):
    def fail(self):
        raise ZeroDivisionError("a toy fault")


class RaiseEOF(Faulty):
    def fail(self):
        raise EOFError("the toy's own pipe closed")


class Segfault(Faulty):
    def fail(self):
        ctypes.string_at(0)


class Exit(Faulty):
    def fail(self):
        os._exit(7)


class Hang(Faulty):
    def fail(self):
        time.sleep(600)


class HangHoldingGil(Faulty):
    """Stuck in C code: no other thread of its process runs any more."""

    def fail(self):
        ctypes.PyDLL(None).sleep(600)


class Hoard(Faulty):
    def fail(self):
        np.ones(1 << 30)  # 8 GiB


class Forgetful(Toy):
    """Not a function of seed and actions: later episodes of one process end at once."""

    def reset(self, *, seed=None, options=None):
        observation = super().reset(seed=seed)
        with contextlib.suppress(FileExistsError):
            open(self.marker, "x").close()
            self._limit = 12
            return observation
        self._limit = 3
        return observation

    def __init__(self, marker: str) -> None:
        self.marker = marker


def one(cls: type, **kwargs: Any) -> Callable[[], gym.Env]:
    """Return a factory of ``cls``."""
    return lambda: cls(**kwargs)
