"""What follows the convolutions is known, and stands in the block, before their own gradient."""

import pytest
import torch
from gymnasium import spaces

from parcade.learn.encoders import after_convolutions
from parcade.learn.flat import FlatParameters
from parcade.learn.policy import NetSettings, Policy

PICTURE, VECTOR = ((1, 36, 36), "uint8"), ((5,), "float32")


def policy_with(**leaves):
    torch.manual_seed(1)
    return Policy(leaves, spaces.Discrete(3), NetSettings())


def loss_of(policy):
    drawn = torch.Generator().manual_seed(2)
    pictures = torch.randint(0, 255, (4, 1, 36, 36), generator=drawn, dtype=torch.uint8)
    seen = {"picture": pictures, "vector": torch.randn(4, 5, generator=drawn)}
    params, values, *_ = policy({name: seen[name] for name in policy.leaves})
    return params.square().sum() + values.square().sum()


@pytest.mark.parametrize("leaves", [{"picture": PICTURE}, {"vector": VECTOR, "picture": PICTURE}])
def test_the_gradient_behind_the_convolutions_is_told_ahead(leaves):
    policy, told = policy_with(**leaves), []
    expected = torch.autograd.grad(loss_of(policy), list(policy.parameters()))

    flat = FlatParameters(list(policy.parameters()))
    places = flat.places(policy.parameters())
    first = [id(one) for one in policy.parameters()].index(id(after_convolutions(policy)))
    flat.tell_when_known(after_convolutions(policy), lambda: told.append([place.clone() for place in places]))
    for turn in (1, 2):
        flat.weights.grad.fill_(7.0)
        flat.gradients_of(loss_of(policy))
        assert len(told) == turn
        assert all(torch.equal(found, right) for found, right in zip(places, expected, strict=True))
        assert all(torch.equal(found, right) for found, right in zip(told[-1][first:], expected[first:], strict=True))
        assert all((early == 7.0).all() for early in told[-1][:first])  # the convolutions' own was not there yet
    assert 0 < first < len(places)


def test_a_network_without_pictures_is_not_split():
    assert after_convolutions(policy_with(vector=VECTOR)) is None
