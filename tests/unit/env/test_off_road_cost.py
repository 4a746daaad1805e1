"""What leaving the road costs in training, and never in evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError
from parcade.evaluation import evaluation_spec

SPEC = EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=4)
STRAIGHT_ON = np.array([0.0, 1.0, 0.0], np.float32)


def drive(spec: EnvSpec) -> tuple[list[float], list[bool]]:
    """Return the rewards of 40 steps straight on, and after which of them no wheel was on the road."""
    env = make(spec)
    env.reset(seed=3)
    car: Any = env.unwrapped
    rewards, off_road = [], []
    for _ in range(40):
        rewards.append(float(env.step(STRAIGHT_ON)[1]))
        off_road.append(car.off_road)
    env.close()
    return rewards, off_road


def test_only_frames_off_the_road_cost() -> None:
    plain, off_road = drive(SPEC)
    costly, _ = drive(SPEC.with_(off_road_cost=0.5))
    assert (off_road[0], off_road[-1]) == (False, True)  # the first bend is missed
    costs = np.subtract(plain, costly)
    assert costs[: off_road.index(True)] == pytest.approx(0)
    assert costs[-1] == pytest.approx(4 * 0.5)
    assert sum(costs) > 0


def test_evaluation_takes_nothing_off() -> None:
    costly = SPEC.with_(off_road_cost=0.5)
    assert drive(evaluation_spec(costly, "fast")) == drive(SPEC)
    assert evaluation_spec(costly).off_road_cost is None


def test_an_env_without_a_road_is_refused() -> None:
    with pytest.raises(EnvError, match="off_road_cost is for parcade/CarRacing-v3, but the env is CartPole-v1"):
        make(EnvSpec(env_id="CartPole-v1", off_road_cost=1.0))
    with pytest.raises(SettingsError, match="off_road_cost is for Gymnasium envs, not for the game lantern"):
        make(EnvSpec(game="lantern", off_road_cost=1.0))
