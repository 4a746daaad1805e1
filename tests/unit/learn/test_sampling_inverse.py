"""What a sampler would have to draw for an action of the env is what it gives back as that action."""

import numpy as np
import pytest
from gymnasium import spaces

from parcade.learn.sampling import sampler_for

SPACES = [
    (spaces.Discrete(4, start=2), "gaussian"),
    (spaces.MultiDiscrete([3, 5], start=[1, -2]), "gaussian"),
    (spaces.MultiDiscrete([[2, 3], [4, 5]]), "gaussian"),
    (spaces.MultiBinary((2, 3)), "gaussian"),
    (spaces.Box(-2, 3, (2, 2), np.float32), "gaussian"),
    (spaces.Box(np.array([-1, 0], np.float32), np.array([1, 5], np.float32)), "beta"),
]


@pytest.mark.parametrize(("space", "box"), SPACES)
def test_there_and_back(space, box):
    sampler = sampler_for(space, box)
    space.seed(3)
    actions = np.stack([np.asarray(space.sample()) for _ in range(20)])
    drawn = sampler.from_env(actions.astype(np.uint8) if space == SPACES[0][0] else actions)
    assert drawn.shape == (20, *sampler.drawn_shape)
    assert drawn.dtype.str == sampler.drawn_dtype
    assert sampler.to_env(drawn).reshape(actions.shape) == pytest.approx(actions, abs=1e-5)


def test_the_ends_of_a_beta_are_finite():
    sampler = sampler_for(spaces.Box(-1, 1, (1,), np.float32), "beta")
    drawn = sampler.from_env(np.array([[-1.0], [1.0]], np.float32))
    assert ((drawn > 0) & (drawn < 1)).all()
