"""What driving past tiles costs in training, and never in evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parcade.bench.racing import follow_track
from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.racing.env import MOST_MISSED
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError

SPEC = EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=4)


def drive(spec: EnvSpec, n_steps: int = 150, careless: bool = True) -> tuple[list[float], list[int], int]:
    """Return the rewards, the tiles missed in each step's last frame, and how many no wheel touched until the end.

    The careless driver looks far ahead and so cuts the bends.
    """
    env = make(spec)
    env.reset(seed=3)
    car: Any = env.unwrapped
    rewards, missed = [], []
    for _ in range(n_steps):
        action = follow_track(car, speed=60.0, look_ahead=10) if careless else follow_track(car)
        rewards.append(float(env.step(action)[1]))
        missed.append(car.missed_tiles)
    passed = [tile for tile in car.road[: car._next_to_judge] if not tile.road_visited]
    env.close()
    return rewards, missed, len(passed)


def test_each_missed_tile_costs_once() -> None:
    plain, _, n_missed = drive(SPEC)
    costly, _, _ = drive(SPEC.with_(missed_tile_cost=0.5))
    costs = np.subtract(plain, costly)
    assert n_missed > 3
    assert sum(costs) == pytest.approx(0.5 * n_missed)
    assert np.count_nonzero(costs) < len(costs) / 2


def test_a_careful_drive_costs_nothing() -> None:
    plain, missed, n_missed = drive(SPEC, careless=False)
    assert (sum(missed), n_missed) == (0, 0)
    assert drive(SPEC.with_(missed_tile_cost=0.5), careless=False)[0] == plain
    assert sum(plain) > 100


def test_a_shortcut_does_not_count_half_the_track() -> None:
    env: Any = make(SPEC).unwrapped
    env.reset(seed=3)
    env.judge_tiles_before(100)
    assert env.missed_tiles == MOST_MISSED
    env.judge_tiles_before(60)  # one behind says nothing
    assert env.missed_tiles == MOST_MISSED
    env.close()


def test_evaluation_takes_nothing_off() -> None:
    costly = SPEC.with_(missed_tile_cost=0.5)
    assert drive(evaluated_as(costly, "fast")) == drive(SPEC)
    assert evaluated_as(costly).missed_tile_cost is None


def test_an_env_without_a_road_is_refused() -> None:
    with pytest.raises(EnvError, match="missed_tile_cost is for parcade/CarRacing-v3, but the env is CartPole-v1"):
        make(EnvSpec(env_id="CartPole-v1", missed_tile_cost=1.0))
    with pytest.raises(SettingsError, match="missed_tile_cost is for Gymnasium envs, not for the game lantern"):
        make(EnvSpec(game="lantern", missed_tile_cost=1.0))
