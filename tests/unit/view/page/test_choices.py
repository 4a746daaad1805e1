"""What a policy was about to do, read from the block's numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from parcade.view.budget import MOST_PER_S, SLOWEST_S, Budget
from parcade.view.page.choices import chances


def block_of(params, action):
    params = np.array(params, np.float32)[None, None]
    return SimpleNamespace(params=params, action={"obs": np.array(action)[None, None]})


def test_chances_of_a_choice():
    about = {"action_space": {"type": "Discrete", "n": 3, "start": 5}}
    told = chances(about, block_of([0, math.log(2), 0], 6), 0, 0)
    assert told["chances"] == [[0.25, 0.5, 0.25]]
    assert told["taken"] == [1]


def test_several_choices_and_switches():
    several = {"action_space": {"type": "MultiDiscrete", "nvec": [2, 3]}}
    told = chances(several, block_of([0, 0, 0, 0, 50], [1, 2]), 0, 0)
    assert told["chances"] == [[0.5, 0.5], [0, 0, 1]]
    later = {"action_space": {"type": "MultiDiscrete", "nvec": [2, 3], "start": [1, 4]}}
    assert chances(later, block_of([0, 0, 0, 0, 50], [2, 6]), 0, 0)["taken"] == [1, 2]
    switches = {"action_space": {"type": "MultiBinary", "n": [2]}}
    assert chances(switches, block_of([0, 50], [1, 0]), 0, 0)["switches"] == [0.5, 1]


def test_ranges_of_numbers():
    box = {"type": "Box", "low": [-1, "-inf"], "high": [1, "inf"]}
    told = chances(
        {"action_space": box, "box_policy": "gaussian"}, block_of([0.5, 2, 0, math.log(3)], [0.1, 0.2]), 0, 0
    )
    assert told["ranges"] == [
        {"mean": 0.5, "spread": 1.0, "low": -1.0, "high": 1.0},
        {"mean": 2.0, "spread": 3.0},
    ]
    box = {"type": "Box", "low": [0], "high": [10]}
    (axis,) = chances({"action_space": box, "box_policy": "beta", "beta_sharpness": 1.0}, block_of([3, 3], [5]), 0, 0)[
        "ranges"
    ]
    assert axis["mean"] == pytest.approx(5)
    assert 0 < axis["spread"] < 5


def test_a_policy_that_left_nothing():
    about = {"action_space": {"type": "Discrete", "n": 3, "start": 0}}
    assert chances(about, block_of([], 2), 0, 0) == {"taken": [2]}
    assert chances(about, block_of([math.nan] * 3, 2), 0, 0) == {"taken": [2]}


def test_a_budget_slows_down_to_its_share_and_recovers():
    budget = Budget(cores=2, share=0.03)
    for _ in range(100):
        budget.spend(own_s=0.002, workers_s=0.007)
    assert budget.period_s == pytest.approx(0.009 / 0.06, rel=0.01)
    for _ in range(100):
        budget.spend(0.0001, 0.0)
    assert budget.period_s == pytest.approx(1 / MOST_PER_S)
    for _ in range(100):
        budget.spend(10.0, 0.0)
    assert budget.period_s == SLOWEST_S


def test_many_cores_do_not_let_the_server_take_more_than_its_part_of_one():
    budget = Budget(cores=256, share=0.03)
    for _ in range(100):
        budget.spend(own_s=0.1, workers_s=0.0)
    assert 0.1 / budget.period_s == pytest.approx(0.4, rel=0.01)
