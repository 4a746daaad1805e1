"""Shifted pictures: what moves, by how much, and what the loss makes of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.nn import functional as F

from parcade.errors import SettingsError
from parcade.learn.loss import SHIFT_WEIGHT, PpoSettings, ppo_loss, shift_loss
from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.shifting import STILL, RandomShift

LEAVES = {"pixels": ((2, 24, 28), "uint8"), STILL: ((1, 24, 24), "uint8"), "features": ((3,), "float32")}


def a_policy(leaves=LEAVES, **net):
    torch.manual_seed(0)
    return Policy(leaves, spaces.Discrete(4), NetSettings(**net))


def some_rows(n, leaves=LEAVES):
    rng = np.random.default_rng(0)
    return {
        name: torch.from_numpy(rng.integers(0, 255, (n, *shape)).astype(dtype))
        for name, (shape, dtype) in leaves.items()
    }


def generator(seed=1):
    return torch.Generator().manual_seed(seed)


def test_pictures_are_padded_with_their_edge_and_cut_anywhere():
    obs = some_rows(200)
    shifted = RandomShift(a_policy(), 3, generator())(obs)
    padded = F.pad(obs["pixels"].float(), (3, 3, 3, 3), mode="replicate").to(torch.uint8)
    places = set()
    for row in range(200):
        fits = [
            (top, left)
            for top in range(7)
            for left in range(7)
            if torch.equal(padded[row, :, top : top + 24, left : left + 28], shifted["pixels"][row])
        ]
        assert len(fits) == 1, row
        places.add(fits[0])
    assert len(places) > 40  # of 49
    assert shifted[STILL] is obs[STILL]
    assert shifted["features"] is obs["features"]


def test_channels_may_come_last():
    leaves = {"obs": ((24, 28, 3), "uint8")}
    obs = some_rows(20, leaves)
    found = RandomShift(a_policy(leaves), 2, generator())(obs)["obs"]
    first = {"obs": obs["obs"].permute(0, 3, 1, 2).contiguous()}
    wanted = RandomShift(a_policy({"obs": ((3, 24, 28), "uint8")}), 2, generator())(first)["obs"]
    assert torch.equal(found.permute(0, 3, 1, 2), wanted)


def test_nothing_to_shift_is_one_sentence():
    with pytest.raises(SettingsError, match="shift_pixels is 2, but the policy sees no picture that can be shifted"):
        RandomShift(a_policy({"obs": ((3,), "float32")}), 2, generator())


def a_batch(policy, obs, shifted):
    n = len(obs["features"])
    with torch.no_grad():
        params, values = policy(obs)
    actions = torch.arange(n) % 4
    log_probs, _ = policy.distribution.evaluate(params, actions)
    return Minibatch(obs, actions, log_probs, values, torch.linspace(-1, 1, n), values + 1, shifted=shifted)


def test_the_ratio_stays_one_and_the_loss_sees_only_what_moved():
    policy, obs = a_policy(), some_rows(64)
    settings = PpoSettings(shift_pixels=3)
    still = a_batch(policy, obs, dict(obs))
    moved = a_batch(policy, obs, RandomShift(policy, 3, generator())(obs))
    without = a_batch(policy, obs, None)
    losses = [ppo_loss(policy, batch, settings) for batch in (without, still, moved)]
    assert not torch.cat([loss.log_ratio for loss in losses]).any()
    assert torch.equal(losses[0].total, losses[1].total)
    assert losses[2].total > losses[0].total


def gradient(loss, policy):
    found = torch.autograd.grad(loss, list(policy.parameters()), retain_graph=True)
    return torch.cat([part.flatten() for part in found])


def test_moved_pictures_are_pulled_to_the_unmoved_ones_and_not_the_other_way_round():
    policy, obs = a_policy(), some_rows(64)
    batch = a_batch(policy, obs, RandomShift(policy, 3, generator())(obs))
    params, values = (part.detach() for part in policy(obs))
    pull = shift_loss(policy, batch, batch.shifted, params, values)
    whole, plain = (ppo_loss(policy, one, PpoSettings()).total for one in (batch, replace(batch, shifted=None)))
    found = gradient(whole, policy) - gradient(plain, policy)
    wanted = SHIFT_WEIGHT * gradient(pull, policy)
    assert wanted.abs().max() > 1e-4
    assert torch.allclose(found, wanted, atol=1e-6)
