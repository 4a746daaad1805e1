"""Gradients by hand are autograd's."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.errors import ModelFileError
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.loss import PpoSettings, ppo_loss
from parcade.learn.manual_backprop import ManualGradients
from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.sampling import sampler_for

MASK = {"action_mask": ((5,), "int8")}
CASES = {
    "choice": (spaces.Discrete(5), {}, {}, {}),
    "relu": (spaces.Discrete(5), {"activation": "relu"}, {}, {}),
    "no hidden layer": (spaces.Discrete(5), {"hidden": ()}, {}, {}),
    "one hidden layer": (spaces.Discrete(5), {"hidden": (24,)}, {}, {}),
    "masked": (spaces.Discrete(5), {}, MASK, {}),
    "normalised": (spaces.Discrete(5), {"normalize_obs": True}, {}, {}),
    "values clipped": (spaces.Discrete(5), {}, {}, {"clip_range_vf": 0.1}),
    "plain advantages": (spaces.Discrete(5), {}, {}, {"normalize_advantage": False, "ent_coef": 0.0}),
    "several choices": (spaces.MultiDiscrete([3, 2]), {}, {}, {}),
    "switches": (spaces.MultiBinary(3), {}, {}, {}),
    "gaussian": (spaces.Box(-1, 1, (2,)), {}, {}, {}),
    "beta": (spaces.Box(-1, 1, (2,)), {"box": "beta"}, {}, {}),
}


def make(actions, net, more_leaves):
    torch.manual_seed(1)
    policy = Policy({"obs": ((9,), "float32"), **more_leaves}, actions, NetSettings(**{"hidden": (32, 16), **net}))
    torch.nn.init.normal_(policy.actor[-1].weight, std=0.5)
    return policy


def drawn(policy, params):
    sampler = sampler_for(policy.action_space, policy.net.box)
    return torch.from_numpy(sampler.draw(params.numpy(), sampler.noise(np.random.default_rng(3), len(params))))


def batch_for(policy, rows):
    noise = torch.Generator().manual_seed(2)
    obs = {"obs": torch.randn(rows, 9, generator=noise)}
    if policy.mask_leaf is not None:
        obs["action_mask"] = torch.randint(0, 2, (rows, 5), generator=noise, dtype=torch.int8)
        obs["action_mask"][:, 0] = 1
    with torch.no_grad():
        params, values = policy(obs)
        actions = drawn(policy, params)
        old = policy.distribution.evaluate(params, actions)[0] + 0.3 * torch.randn(rows, generator=noise)
    advantages, errors = torch.randn(2, rows, generator=noise).unbind()
    return Minibatch(obs, actions, old, values + 0.2 * errors, advantages, values + errors)


@pytest.mark.parametrize("rows", [64, 50, 1])
@pytest.mark.parametrize("case", CASES)
def test_losses_and_gradients_are_those_of_autograd(case, rows):
    actions, net, more_leaves, ppo = CASES[case]
    policy, settings = make(actions, net, more_leaves), PpoSettings(batch_size=64, **ppo)
    flat, batch = FlatParameters(list(policy.parameters())), batch_for(policy, rows)
    wanted = ppo_loss(policy, batch, settings)
    flat.gradients_of(wanted.total)
    gradient = flat.weights.grad.clone()
    assert float(gradient.norm()) > 1e-3
    flat.weights.grad.zero_()
    found = ManualGradients(policy, flat, settings.batch_size).take(batch, settings)
    if rows == 64:
        assert torch.equal(flat.weights.grad, gradient)  # to the bit: 64 divides without rounding
    assert torch.allclose(flat.weights.grad, gradient, rtol=1e-5, atol=1e-7)
    for name in ("policy", "value", "entropy"):
        assert float(getattr(found, name).mean()) == pytest.approx(getattr(wanted, name).item(), rel=1e-5, abs=1e-6)
    assert torch.equal(found.log_ratio, wanted.log_ratio)
    clipped = (wanted.log_ratio.exp() - 1).abs() > 0.2
    assert rows < 50 or clipped.any()


def test_a_second_minibatch_leaves_nothing_of_the_first():
    policy, settings = make(*CASES["choice"][:3]), PpoSettings(batch_size=64)
    flat = FlatParameters(list(policy.parameters()))
    by_hand = ManualGradients(policy, flat, settings.batch_size)
    by_hand.take(batch_for(policy, 64), settings)
    by_hand.take(batch_for(policy, 50), settings)
    alone = flat.weights.grad.clone()
    flat.weights.grad.fill_(7.0)
    ManualGradients(policy, flat, settings.batch_size).take(batch_for(policy, 50), settings)
    used = torch.cat([place.flatten() for place in flat.places(policy.parameters())])
    flat.weights.grad.copy_(alone)
    assert torch.equal(used, torch.cat([place.flatten() for place in flat.places(policy.parameters())]))


def test_descending_is_adams_step():
    start, gradients = torch.randn(40), torch.randn(5, 40)
    quick, plain = (torch.nn.Parameter(start.clone()) for _ in range(2))
    ours, theirs = FlatAdam(quick, 1e-2), torch.optim.Adam([plain], lr=1e-2, eps=1e-5, fused=True)
    for number, gradient in enumerate(gradients):
        for weights in (quick, plain):
            weights.grad = gradient.clone()
        if number == 3:  # as after a checkpoint
            kept = {name: value.clone() for name, value in ours.moments().items()}
            ours = FlatAdam(quick, 1.0)
            ours.load_moments(kept)
        ours.learning_rate = theirs.param_groups[0]["lr"] = 1e-2 / (1 + number)
        ours.descend()
        theirs.step()
    assert torch.equal(quick, plain)
    assert not torch.equal(quick, start)
    assert float(ours.moments()["adam_step"]) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"adam_exp_avg": torch.zeros(39)},
        {"adam_exp_avg": torch.zeros(40, dtype=torch.float64)},
        {"adam_step": torch.zeros(1)},
        {"adam_step": torch.tensor(-1.0)},
        {"adam_more": torch.zeros(40)},
    ],
    ids=str,
)
def test_moments_of_another_network_are_refused_and_change_nothing(change):
    adam = FlatAdam(torch.nn.Parameter(torch.zeros(40)), 1e-2)
    good = {"adam_step": torch.tensor(1.0), "adam_exp_avg": torch.ones(40), "adam_exp_avg_sq": torch.ones(40)}
    with pytest.raises(ModelFileError, match="does not belong to this network"):
        adam.load_moments({**good, **change})
    assert adam.moments() == {}
