"""An env that is sound in training and faulty in evaluations, which it knows by their seeds."""

import ctypes
import time

import gymnasium as gym
import numpy as np

from parcade.game.base import FIRST_HELD_OUT_SEED


class EvalFault(gym.Env):
    """Episodes of ten steps; ``how`` says what happens in the fifth step of an evaluated one."""

    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, how: str) -> None:
        self._how, self._steps, self._is_judged = how, 0, False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps, self._is_judged = 0, seed is not None and seed >= FIRST_HELD_OUT_SEED
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self._steps += 1
        if self._is_judged and self._steps == 5:
            self._fail()
        return np.zeros(2, np.float32), 1.0, self._steps == 10, False, {}

    def _fail(self):
        if self._how == "raise":
            raise ArithmeticError("bad luck")
        if self._how == "segfault":
            ctypes.string_at(0)
        time.sleep(1000)


gym.register("EvalFault-v0", EvalFault)
