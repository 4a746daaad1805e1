"""Episodes of CarRacing that begin beside the road: in training only, and the same for the same seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.racing.env import FARTHEST_LOST
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError

SPEC = EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=4)


def lost(share: float) -> EnvSpec:
    return SPEC.with_(env_kwargs={"lost_share": share})


def begun(spec: EnvSpec, seed: int) -> tuple[Any, Any]:
    """Return the first picture of an episode and the car's env."""
    env = make(spec)
    picture, _ = env.reset(seed=seed)
    return picture, env.unwrapped


def distance_and_tile(car_racing: Any) -> tuple[float, int]:
    """Return how far the car is from the nearest tile's middle, and which tile that is."""
    hull = car_racing.car.hull.position
    away = [math.hypot(hull.x - x, hull.y - y) for _, _, x, y in car_racing.track]
    return min(away), int(np.argmin(away))


def test_a_lost_episode_begins_within_the_lap_with_what_was_driven_before() -> None:
    begins, offsets = set(), []
    for seed in range(8):
        _, car_racing = begun(lost(1.0), seed)
        driven = [tile.road_visited for tile in car_racing.road]
        n_driven = car_racing.tile_visited_count
        touched = {tile.idx for wheel in car_racing.car.wheels for tile in wheel.tiles}
        assert all(driven[:n_driven]) or touched
        assert {at for at, was in enumerate(driven) if was} <= set(range(n_driven)) | touched
        distance, _ = distance_and_tile(car_racing)
        assert distance <= FARTHEST_LOST + 0.5
        begins.add(n_driven)
        offsets.append(distance)
    assert len(begins) > 4
    assert max(offsets) > FARTHEST_LOST / 2


def test_the_tiles_that_were_driven_are_not_missed() -> None:
    _, car_racing = begun(lost(1.0).with_(missed_tile_cost=10.0), 3)
    nothing = np.zeros(3, np.float32)
    assert all(car_racing.step(nothing)[1] > -1.0 for _ in range(20))


def test_the_same_seed_begins_the_same_and_a_share_is_a_share() -> None:
    first, _ = begun(lost(1.0), 5)
    again, _ = begun(lost(1.0), 5)
    assert np.array_equal(first, again)
    env: Any = make(lost(0.5)).unwrapped
    at_the_start = []
    for seed in range(30):
        env.reset(seed=seed)
        at_the_start.append(env.t < 0.5)  # the camera still comes down
    assert 5 < sum(at_the_start) < 25


def test_without_a_share_nothing_changes() -> None:
    plain, _ = begun(SPEC, 7)
    none, _ = begun(lost(0.0), 7)
    assert np.array_equal(plain, none)


@pytest.mark.parametrize("choice", ["fast", "official"])
def test_an_evaluation_begins_at_the_start(choice: str) -> None:
    assert evaluated_as(lost(1.0), choice).env_kwargs == {}


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(EnvError, match="wanted a share from 0 to 1"):
        make(lost(share))
