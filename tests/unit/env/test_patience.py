"""Patience: training leaves an episode that brings nothing any more, evaluation never does."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError


class Payer(gym.Env[Any, Any]):
    """Pays what it is told to, one frame after the other."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, rewards: list[float]) -> None:
        self._rewards = rewards

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left = list(self._rewards)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, np.float32), self._left.pop(0), False, not self._left, {}


def steps_until_the_end(env: gym.Env[Any, Any]) -> tuple[int, bool, bool]:
    env.reset(seed=0)
    for step in range(1, 100):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            return step, terminated, truncated
    raise AssertionError("the episode never ended")


def test_three_steps_in_a_row_without_reward_end_the_episode() -> None:
    rewards = [-0.1, -0.1, 1.0, -0.1, 0.0, -0.1, -0.1, 1.0]
    assert steps_until_the_end(PreprocessedEnv(Payer(rewards), Preprocessing(patience=3))) == (6, True, False)
    assert steps_until_the_end(PreprocessedEnv(Payer(rewards))) == (8, False, True)


def test_a_new_episode_begins_with_full_patience() -> None:
    env = PreprocessedEnv(Payer([-1.0] * 9), Preprocessing(patience=4))
    assert steps_until_the_end(env) == steps_until_the_end(env) == (4, True, False)


def test_the_reward_of_a_step_is_that_of_all_its_frames() -> None:
    rewards = [-0.1, 1.0] * 4 + [-0.1] * 8
    assert steps_until_the_end(PreprocessedEnv(Payer(rewards), Preprocessing(frame_skip=2, patience=2))) == (
        6,
        True,
        False,
    )


def test_the_standing_car_is_left_in_training_but_not_in_evaluation() -> None:
    spec = EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=50, grayscale=True, patience=2)
    lengths = []
    for played in (spec, evaluated_as(spec, "fast")):
        env = make(played)
        env.reset(seed=1)
        length, ended = 0, False
        while not ended:
            _, _, terminated, truncated, _ = env.step(np.zeros(3, np.float32))
            length, ended = length + 1, terminated or truncated
        lengths.append(length)
        env.close()
    assert lengths == [3, 20]  # the first step pays the tiles under the wheels; 20 of 50 frames are the whole 1000


def test_a_game_refuses_patience() -> None:
    with pytest.raises(SettingsError, match="patience is for Gymnasium envs, not for the game lantern"):
        make(EnvSpec(game="lantern", patience=3))
