import numpy as np
import pytest
import torch

from parcade.learn.normalise import ReturnScaler, RunningMoments, combine


def test_two_samples_together_are_one_sample():
    rng = np.random.default_rng(0)
    one, other = rng.normal(3, 2, 50), rng.normal(-1, 5, 170)
    mean, var, count = combine((one.mean(), one.var(), 50), (other.mean(), other.var(), 170))
    every = np.concatenate([one, other])
    assert (mean, var, count) == pytest.approx((every.mean(), every.var(), 220))


def test_moments_scale_what_was_observed_to_zero_and_one():
    moments = RunningMoments(3)
    rows = 5 + 100 * torch.randn(2000, 3, generator=torch.Generator().manual_seed(0))
    for part in rows.split(300):
        moments.observe(part)
    scaled = moments(rows)
    assert torch.allclose(scaled.mean(0), torch.zeros(3), atol=1e-4)
    assert torch.allclose(scaled.std(0), torch.ones(3), atol=1e-3)
    assert float(moments(torch.tensor([[1e9, -1e9, 5.0]])).abs().max()) == 10


def test_moments_travel_with_the_weights():
    first, second = RunningMoments(2), RunningMoments(2)
    first.observe(torch.tensor([[1.0, 2.0], [3.0, 8.0]]))
    second.load_state_dict(first.state_dict())
    assert second.mean.tolist() == [2, 5]
    assert second.var.tolist() == [1, 9]
    assert float(second.count) == 2


def test_rewards_are_divided_by_the_spread_of_returns():
    """gamma 0.5: the returns so far are 2, 2*0.5+0 = 1, then the episode ends; 4, 4*0.5+0 = 2.

    2, 1, 4, 2 have mean 2.25 and variance (0.0625 + 1.5625 + 3.0625 + 0.0625) / 4 = 1.1875.
    """
    rewards = np.array([[2], [0], [4], [0]], np.float32)
    ended = np.array([[False], [True], [False], [False]])
    scaled = ReturnScaler(1, 0.5).scale(rewards, ended)
    assert scaled[:, 0] == pytest.approx(rewards[:, 0] / 1.1875**0.5, rel=1e-6)


def test_a_scaler_taken_up_goes_on_where_it_was():
    rng = np.random.default_rng(0)
    rollouts = [rng.normal(size=(5, 3)).astype(np.float32) for _ in range(3)]
    none = np.zeros((5, 3), bool)
    first, second = ReturnScaler(3, 0.9), ReturnScaler(3, 0.9)
    for rewards in rollouts[:2]:
        first.scale(rewards, none)
    second.load_state(first.state())
    assert np.array_equal(first.scale(rollouts[2], none), second.scale(rollouts[2], none))
