"""The weights that collected are the weights of the first minibatch, so nothing may have changed there."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from tiny_envs import Walk, bench

from parcade.learn.loss import ppo_loss
from parcade.learn.policy import NetSettings

PICTURE = spaces.Box(0, 255, (4, 36, 36), np.uint8)
VECTOR = spaces.Box(-1, 1, (6,), np.float32)
MASKED = spaces.Dict({"seen": VECTOR, "action_mask": spaces.Box(1, 1, (4,), np.int8)})
BOX = spaces.Box(-1, 1, (3,), np.float32)
CASES = {
    "vector": (lambda: Walk(VECTOR), NetSettings()),
    "relu": (lambda: Walk(VECTOR), NetSettings(activation="relu")),
    "picture": (lambda: Walk(PICTURE), NetSettings(cnn="small")),
    "both": (lambda: Walk(spaces.Dict({"a": PICTURE, "b": VECTOR})), NetSettings()),
    "gaussian": (lambda: Walk(VECTOR, BOX), NetSettings()),
    "beta": (lambda: Walk(VECTOR, BOX), NetSettings(box="beta")),
    "multidiscrete": (lambda: Walk(VECTOR, spaces.MultiDiscrete([3, 4])), NetSettings()),
    "multidiscrete grid": (lambda: Walk(VECTOR, spaces.MultiDiscrete([[2, 3], [4, 5]])), NetSettings()),
    "one number": (lambda: Walk(VECTOR, spaces.Box(-1, 1, ())), NetSettings()),
    "one number, beta": (lambda: Walk(VECTOR, spaces.Box(-1, 1, ())), NetSettings(box="beta")),
    "multibinary": (lambda: Walk(VECTOR, spaces.MultiBinary(5)), NetSettings()),
    "masked": (lambda: Walk(MASKED), NetSettings()),
    "normalised": (lambda: Walk(VECTOR), NetSettings(normalize_obs=True)),
    "lstm": (lambda: Walk(VECTOR), NetSettings(lstm=24)),
    "lstm picture": (lambda: Walk(PICTURE), NetSettings(lstm=24)),
}


def rows_are_independent() -> bool:
    """Whether this machine's matrix kernels give a row the same result in a batch of 8 and of 64."""
    rows = torch.randn(64, 128)
    layers = [torch.nn.Linear(128, n) for n in (4, 24, 128, 256)]
    return all(torch.equal(layer(rows[8:16]), layer(rows)[8:16]) for layer in layers)


def first_log_ratio(trained) -> torch.Tensor:
    rollout = trained.learner.prepare(trained.collect())
    batch = next(next(trained.learner.minibatches.epochs(rollout)))
    return ppo_loss(trained.policy, batch, trained.learner.settings).log_ratio.detach()


@pytest.mark.parametrize("case", CASES)
def test_ratio_is_one_before_the_first_step(case):
    env, net = CASES[case]
    trained = bench(env, n_envs=16, n_steps=16, net=net)
    for round_ in range(3):
        log_ratio = first_log_ratio(trained)
        assert log_ratio.abs().max() < 1e-6, round_
        if rows_are_independent() and "lstm" not in case:
            assert not log_ratio.any(), round_  # to the bit; an LSTM's kernel adds in another order over time
        trained.learner.update(trained.pool.block)


@pytest.mark.parametrize("n_envs", [1, 2, 3, 5])
def test_few_slots_get_the_numbers_of_many(n_envs):
    trained = bench(lambda: Walk(VECTOR), n_envs=n_envs, n_groups=1, n_steps=64, batch_size=64)
    for _ in range(3):
        log_ratio = first_log_ratio(trained)
        assert log_ratio.abs().max() < 1e-6
        if rows_are_independent():
            assert not log_ratio.any()
        trained.learner.update(trained.pool.block)
