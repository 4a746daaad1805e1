"""Envs with something wrong, for the look before a training. Workers import this: keep it light."""

import time

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Walk(gym.Env):
    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.episode_seed = 0, seed
        return self.seen(), {}

    def seen(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def step(self, action):
        self.steps += 1
        return self.seen(), 1.0, self.steps >= 40, False, {}


class Scalar(Walk):
    def seen(self):
        return np.float32(0.5)


class Clock(Walk):
    def seen(self):
        return np.full(3, time.perf_counter() % 1, np.float32)


class LateNan(Walk):
    """Fine for 35 steps of its episode, longer than anybody looks before the training."""

    def seen(self):
        return np.array([0, np.nan if self.steps == 35 else 0, 0], np.float32)


class LateText(Walk):
    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, "5" if self.steps == 35 else reward, *rest


class LateEnd(Walk):
    """Its step 35 ends the episode neither truly nor falsely."""

    end, name = None, "terminated"

    def step(self, action):
        seen, reward, terminated, truncated, info = super().step(action)
        ends = {"terminated": terminated, "truncated": truncated}
        if self.steps == 35:
            ends[self.name] = self.end
        return seen, reward, *ends.values(), info


class LateTextEnd(LateEnd):
    end, name = "False", "truncated"


class LateHuge(Walk):
    """Its observations are of 64 bits, one of them beyond what 32 hold."""

    def seen(self):
        return np.array([0, 1e300 if self.steps == 35 else 0, 0])


class LateInfinite(Walk):
    def seen(self):
        return np.array([0, np.inf if self.steps == 35 else 0, 0], np.float32)


class LateReward(Walk):
    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, 1e300 if self.steps == 35 else reward, *rest


class LatePicture(Walk):
    """Pictures, one of which is none."""

    observation_space = spaces.Box(0, 255, (36, 40, 3), np.uint8)
    wrong = np.full((36, 40, 3), np.nan)

    def seen(self):
        return self.wrong if self.steps == 35 else np.zeros((36, 40, 3), np.uint8)


class LateCutPicture(LatePicture):
    wrong = np.zeros((20, 40, 3), np.uint8)


class LateBrightPicture(LatePicture):
    wrong = np.full((36, 40, 3), 300)


class HangsInReset(Walk):
    """Its first reset never ends."""

    def reset(self, *, seed=None, options=None):
        while True:
            time.sleep(0.1)
