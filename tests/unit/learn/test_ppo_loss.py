"""The objective on numbers that fit in the head: logits and value are biases, the observation is zero."""

import math
from dataclasses import replace

import pytest
import torch
from gymnasium import spaces

from parcade.learn.loss import Losses, PpoSettings, approx_kl, ppo_loss
from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import NetSettings, Policy

# Probabilities now: 1/2, 1/4, 1/4. Taken with the old ones below, the ratios are 1.5, 0.5, 1 and 2.
ACTIONS, OLD = [0, 0, 1, 1], [1 / 3, 1.0, 1 / 4, 1 / 8]
PLAIN = PpoSettings(normalize_advantage=False, ent_coef=0.01, vf_coef=0.5)


def loss(settings, *, actions=ACTIONS, old=OLD, advantages=(1.0, -1.0, 2.0, -1.0)) -> Losses:
    policy = Policy({"obs": ((1,), "float32")}, spaces.Discrete(3), NetSettings(hidden=()))
    policy.actor[-1].bias.data = torch.tensor([0.5, 0.25, 0.25]).log()
    policy.critic[-1].bias.data = torch.tensor([1.0])
    rows = len(actions)
    returns = torch.arange(rows, dtype=torch.float32)
    batch = Minibatch(
        {"obs": torch.zeros(rows, 1)},
        torch.tensor(actions),
        torch.tensor(old).log(),
        torch.zeros(rows),
        torch.tensor(advantages),
        returns,
    )
    return Losses(*(part.detach() for part in ppo_loss(policy, batch, settings)))


def test_clipped_objective():
    """min(1.5, 1.2) = 1.2; min(-0.5, -0.8) = -0.8; 2; min(-2, -1.2) = -2: the mean of four is 0.1."""
    assert float(loss(PLAIN).policy) == pytest.approx(-0.1, abs=1e-6)


def test_a_wider_clip_lets_more_through():
    """With 0.6: 1.5; min(-0.5, -0.5) = -0.5; 2; -2: the mean is 0.25."""
    assert float(loss(replace(PLAIN, clip_range=0.6)).policy) == pytest.approx(-0.25, abs=1e-6)


def test_value_loss_without_and_with_clipping():
    """The value is 1 for returns 0, 1, 2, 3: (1 + 0 + 1 + 4) / 4. From 0 it may move to 0.2: see the sum."""
    assert float(loss(PLAIN).value) == pytest.approx(1.5)
    clipped = PpoSettings(normalize_advantage=False, clip_range_vf=0.2)
    assert float(loss(clipped).value) == pytest.approx((0.04 + 0.64 + 3.24 + 7.84) / 4)


def test_entropy_of_a_half_and_two_quarters():
    assert float(loss(PLAIN).entropy) == pytest.approx(1.5 * math.log(2))


def test_the_total_weighs_the_parts():
    total = -0.1 - 0.01 * 1.5 * math.log(2) + 0.5 * 1.5
    assert float(loss(PLAIN).total) == pytest.approx(total, abs=1e-6)


def test_advantages_are_scaled_within_the_minibatch():
    """1 and 3 have mean 2 and standard deviation sqrt(2), so they become -+0.7071; the first ratio is 1.1."""
    scaled = loss(PpoSettings(), actions=[0, 1], old=[0.5 / 1.1, 0.25], advantages=(1.0, 3.0))
    assert float(scaled.policy) == pytest.approx(-(-math.sqrt(0.5) * 1.1 + math.sqrt(0.5)) / 2, abs=1e-6)


def test_divergence_estimate():
    """Mean of (r - 1) - log r over ratios 1.5 and 1."""
    assert float(approx_kl(torch.tensor([1.5, 1.0]).log())) == pytest.approx((0.5 - math.log(1.5)) / 2, abs=1e-6)


def test_what_is_scheduled_falls_to_zero():
    settings = replace(PLAIN, lr_schedule="linear", ent_schedule="linear")
    half = settings.at(0.5)
    assert (half.learning_rate, half.ent_coef) == (settings.learning_rate / 2, 0.005)
    assert half.clip_range == settings.clip_range
    assert settings.at(0.0).ent_coef == 0.0
