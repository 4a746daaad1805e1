"""Scaled action axes: the policy's whole range is a part of the env's."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError


class Listener(gym.Env[Any, Any]):
    """Remembers the last action it was given."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Box(np.array([-1, 0, 0], np.float32), np.array([1, 1, 1], np.float32))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.heard = action.tolist()
        return np.zeros(1, np.float32), 0.0, False, False, {}


def test_each_axis_is_multiplied_by_its_number() -> None:
    listener = Listener()
    env = PreprocessedEnv(listener, Preprocessing(action_scale=(1.0, 0.5, 0.25)))
    env.reset(seed=0)
    action = np.array([-1.0, 1.0, 0.5], np.float32)
    assert env.action_space == listener.action_space
    env.step(action)
    assert listener.heard == [-1.0, 0.5, 0.125]
    assert action.tolist() == [-1.0, 1.0, 0.5]  # the caller's array is left alone


def test_the_car_brakes_less() -> None:
    env = make(EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=4, action_scale=(1.0, 1.0, 0.25)))
    env.reset(seed=1)
    env.step(np.array([0.0, 0.0, 1.0], np.float32))
    car: Any = env.unwrapped
    assert [wheel.brake for wheel in car.car.wheels] == [0.25] * 4
    env.close()


@pytest.mark.parametrize("scale", [(1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 2.0)])
def test_scales_that_do_not_fit_are_refused(scale: tuple[float, ...]) -> None:
    with pytest.raises(EnvError, match=r"action_scale is 1.0,.*, wanted 3 numbers above 0 and up to 1, one for each"):
        PreprocessedEnv(Listener(), Preprocessing(action_scale=scale))


def test_discrete_actions_and_games_are_refused() -> None:
    with pytest.raises(EnvError, match=r"needs a row of continuous actions, but the action space is Discrete\(2\)"):
        make(EnvSpec(env_id="CartPole-v1", action_scale=(0.5,)))
    with pytest.raises(SettingsError, match="action_scale is for Gymnasium envs, not for the game lantern"):
        make(EnvSpec(game="lantern", action_scale=(0.5,)))
