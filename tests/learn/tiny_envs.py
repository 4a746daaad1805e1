"""Hand-written envs small enough to be solved in seconds, and the few lines that train on them."""

from __future__ import annotations

from dataclasses import dataclass

import cloudpickle
import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces

from parcade.env.spec import EnvSpec
from parcade.learn.loss import PpoSettings
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.ppo import Ppo
from parcade.pool.block import Block
from parcade.pool.serial_pool import SerialPool
from parcade.train.assembly import leaf_shapes


class Maze(gym.Env):
    """Five by five fields; walk from anywhere to the corner in as few steps as possible."""

    observation_space = spaces.Box(0, 1, (10,), np.float32)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.y = (int(n) for n in self.np_random.integers(0, 4, 2))
        self.steps = 0
        return self._look(), {}

    def step(self, action):
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        self.x, self.y = min(4, max(0, self.x + dx)), min(4, max(0, self.y + dy))
        self.steps += 1
        home = self.x == self.y == 4
        return self._look(), 1.0 if home else -0.05, home, self.steps >= 40, {}

    def _look(self):
        seen = np.zeros(10, np.float32)
        seen[self.x] = seen[5 + self.y] = 1
        return seen


class Follow(gym.Env):
    """Answer the number shown with the same number; every miss costs its square."""

    observation_space = spaces.Box(-1, 1, (1,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._show(), {}

    def step(self, action):
        reward = 1 - float((action[0] - self.shown[0]) ** 2)
        self.steps += 1
        return self._show(), reward, self.steps >= 8, False, {}

    def _show(self):
        self.shown = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return self.shown


class Endless(gym.Env):
    """One point a step for ever; only cut, never over."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.ones(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.ones(1, np.float32), 1.0, False, self.steps >= 5, {}


class Recall(gym.Env):
    """A sign is shown once; four steps later it must be named. Without memory the mean reward is 0."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sign, self.steps = int(self.np_random.integers(2)), 0
        return np.array([2 * self.sign - 1, 0], np.float32), {}

    def step(self, action):
        self.steps += 1
        over = self.steps == 5
        reward = (1.0 if action == self.sign else -1.0) if over else 0.0
        return np.array([0, self.steps == 4], np.float32), reward, over, False, {}


class Locks(gym.Env):
    """Eight doors, two of them open; the one shown in the observation is right if it is open, else the other one."""

    observation_space = spaces.Dict(
        {"wish": spaces.Box(0, 1, (8,), np.float32), "action_mask": spaces.Box(0, 1, (8,), np.int8)}
    )
    action_space = spaces.Discrete(8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._show(), {}

    def step(self, action):
        if action not in self.open:
            raise ValueError(f"door {action} is locked; open are {self.open}")
        self.steps += 1
        reward = float(action == self.right)
        return self._show(), reward, self.steps >= 8, False, {}

    def _show(self):
        self.open = [int(n) for n in self.np_random.choice(8, 2, replace=False)]
        self.right = self.open[0]
        mask, wish = np.zeros(8, np.int8), np.zeros(8, np.float32)
        mask[self.open], wish[self.right] = 1, 1
        return {"wish": wish, "action_mask": mask}


class Walk(gym.Env):
    """A walk over random pictures or vectors that ends at random: rollouts with everything in them."""

    def __init__(self, observation=None, action=None, ends=0.05):
        self.observation_space = observation or spaces.Box(-1, 1, (6,), np.float32)
        self.action_space = action or spaces.Discrete(4)
        self.ends = ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        end, kind = self.np_random.random(2)
        reward = float(self.np_random.normal())
        ended = end < self.ends
        return self.observation_space.sample(), reward, bool(ended and kind < 0.5), bool(ended and kind >= 0.5), {}


class Table(gym.Env):
    """One of 64 states is shown, and each has one right action of four: nothing to interpolate between states."""

    observation_space = spaces.Dict({"state": spaces.Discrete(64, start=1), "pair": spaces.MultiDiscrete([2, 3])})
    action_space = spaces.Discrete(4)
    right = np.random.default_rng(0).integers(0, 4, 64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._left = 20
        return self._show(), {}

    def _show(self):
        self._state = int(self.np_random.integers(64))
        return {"state": self._state + 1, "pair": np.array([1, 2])}

    def step(self, action):
        reward, self._left = float(action == self.right[self._state]), self._left - 1
        return self._show(), reward, False, self._left == 0, {}


OPEN: list[SerialPool] = []  # closed after each test by conftest.py


@dataclass
class Bench:
    pool: SerialPool
    policy: Policy
    learner: Ppo
    n_steps: int
    seed: int

    def collect(self) -> Block:
        """Play one rollout with the present weights."""
        return self.pool.play(self.learner.actor(), self.learner.weights(), self.seed + 1, self.n_steps)

    def returns(self, updates: int) -> list[float]:
        """Train and return the mean return of each update's finished episodes."""
        means = []
        for _ in range(updates):
            block = self.collect()
            self.learner.update(block)
            means.append(float(np.mean([episode.total_reward for episode in block.episodes()] or [np.nan])))
        return means


def bench(env, n_envs=16, n_steps=32, n_groups=1, seed=0, net=None, scaler=None, **ppo) -> Bench:
    """Return everything a training needs, on ``env`` (a class or a function that makes an env)."""
    pool = SerialPool(EnvSpec(factory=cloudpickle.dumps(env)), n_envs, seed=seed, n_groups=n_groups)
    OPEN.append(pool)
    torch.manual_seed(seed)
    policy = Policy(leaf_shapes(pool.observation_space), pool.action_space, net or NetSettings(hidden=(64, 64)))
    settings = PpoSettings(**{"learning_rate": 3e-3, "batch_size": 128, **ppo})
    learner = Ppo(policy, settings, seed + 2, return_scaler=scaler)
    pool.reset()
    return Bench(pool, policy, learner, n_steps, seed)
