"""What is not public in torch may be gone in its next release: the same numbers come without it."""

import pytest
import torch
from gymnasium import spaces

from parcade.learn import private_torch
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.loss import PpoSettings
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.ppo import Ppo


@pytest.fixture(autouse=True)
def probed_anew():
    probes = (private_torch.can_copy_at_once, private_torch.has_fused_adam, private_torch.has_backward_kernels)
    for probe in probes:
        probe.cache_clear()
    yield
    for probe in probes:
        probe.cache_clear()


def test_this_torch_has_them_all():
    assert private_torch.can_copy_at_once()
    assert private_torch.has_fused_adam()
    assert private_torch.has_backward_kernels()


def descended(steps=3):
    weights = torch.nn.Parameter(torch.linspace(-1, 1, 5))
    optimiser = FlatAdam(weights, 1e-2)
    for number in range(steps):
        weights.grad = torch.full((5,), 0.1 * (number + 1))
        optimiser.descend()
    return weights.detach()


def test_without_the_fused_step_adams_own_is_taken(monkeypatch):
    wanted = descended()
    monkeypatch.setattr(private_torch, "fused_adam", None)
    private_torch.has_fused_adam.cache_clear()
    assert not private_torch.has_fused_adam()
    assert torch.equal(descended(), wanted)


def test_without_the_joint_copy_gradients_are_copied_one_by_one(monkeypatch):
    monkeypatch.delattr(torch, "_foreach_copy_")
    layer = torch.nn.Linear(3, 2)
    flat = FlatParameters(list(layer.parameters()))
    flat.gradients_of(layer(torch.ones(4, 3)).sum())
    assert not private_torch.can_copy_at_once()
    assert [place.tolist() for place in flat.places(layer.parameters())] == [[[4.0] * 3] * 2, [4.0] * 2]


def test_without_the_backward_kernels_autograd_does_the_work(monkeypatch):
    policy = Policy({"obs": ((3,), "float32")}, spaces.Discrete(2), NetSettings(hidden=(4,)))
    assert Ppo(policy, PpoSettings(batch_size=4))._manual is not None
    private_torch.has_backward_kernels.cache_clear()
    monkeypatch.setattr(private_torch, "_log_softmax", lambda x: x)  # as if the kernel gave other numbers
    assert not private_torch.has_backward_kernels()
    assert Ppo(policy, PpoSettings(batch_size=4))._manual is None
