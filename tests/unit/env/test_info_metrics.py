"""Metrics from a Gymnasium env's info, and the return before clipping."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.info_metrics import InfoMetrics
from parcade.env.make import make
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError


class Tales(gym.Env):
    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.options, self.steps = options, 0
        return np.zeros(2, np.float32), {"level": 1}

    def step(self, action):
        self.steps += 1
        info = {"level": self.steps * 2, "is_success": np.bool_(self.steps > 2), "text": "no number"}
        return np.zeros(2, np.float32), -5.0, False, self.steps == 3, info


def test_success_is_always_asked_for_and_other_keys_by_name():
    metrics = InfoMetrics(("level", "is_success", "level", "text"))
    assert metrics.names == ("success", "level", "text")
    told = metrics.values({"level": np.array([3]), "is_success": True, "text": "x"})
    assert told[:2] == [1.0, 3.0]
    assert math.isnan(told[2])
    assert all(math.isnan(value) for value in metrics.values({}))


@pytest.mark.parametrize("options", [{}, {"max_steps": 50}])
def test_the_last_info_of_an_episode_counts(options):
    gym.register("tests/Tales-v0", Tales) if "tests/Tales-v0" not in gym.registry else None
    spec = EnvSpec(env_id="tests/Tales-v0", info_keys=("level",), **options)
    env = as_slot_env(make(spec), spec.info_keys)
    assert env.metric_names == ("success", "level")
    rows = fresh_rows(env.observation_space)
    env.begin(1, rows)
    assert env.last_info == {"level": 1}
    for _ in range(3):
        env.advance(0, rows)
    assert list(env.episode_metrics()) == [1.0, 6.0]
    env.begin(1, rows, {"way": 2})
    assert env.env.unwrapped.options == {"way": 2}
    env.close()


def test_the_return_before_clipping_is_a_metric():
    gym.register("tests/Tales-v0", Tales) if "tests/Tales-v0" not in gym.registry else None
    spec = EnvSpec(env_id="tests/Tales-v0", reward_clip=1.0)
    env = make(spec)
    assert env.metric_names == ("success", "raw_return")
    rows = fresh_rows(env.observation_space)
    env.begin(1, rows)
    assert [env.advance(0, rows)[0] for _ in range(3)] == [-1.0, -1.0, -1.0]
    assert list(env.episode_metrics()) == [1.0, -15.0]


def test_games_have_metrics_of_their_own():
    with pytest.raises(
        SettingsError, match="info_keys is for Gymnasium envs, not for the game lantern; it has metrics"
    ):
        make(EnvSpec(game="lantern", info_keys=("level",)))
