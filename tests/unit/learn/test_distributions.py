import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import distributions as oracle

from parcade.errors import EnvError
from parcade.learn.distributions import BETA_SHARPNESS, MASKED, distribution_for

LOW, HIGH = np.array([-1, 0], np.float32), np.array([1, 5], np.float32)
BOX = spaces.Box(LOW, HIGH)


def params_for(distribution, rows, seed=0):
    params = torch.randn(rows, distribution.n_params, generator=torch.Generator().manual_seed(seed))
    if distribution.n_free:
        params = torch.cat([params, 0.3 * params.flip(-1)], -1)
    return params


def multidiscrete(params):
    return [oracle.Categorical(logits=params[:, :3]), oracle.Categorical(logits=params[:, 3:])]


def check(ours, params, log_probs, entropy):
    actions = ours.sample(params, torch.Generator().manual_seed(1))
    assert torch.allclose(ours.log_prob(params, actions), log_probs(actions), atol=1e-5)
    assert torch.allclose(ours.entropy(params), entropy, atol=1e-5)
    both = ours.evaluate(params, actions)
    assert torch.allclose(both[0], log_probs(actions), atol=1e-5)
    assert torch.allclose(both[1], entropy, atol=1e-5)
    drawn, drawn_log_probs = ours.draw(params, torch.Generator().manual_seed(1))
    assert torch.equal(drawn, actions)
    assert torch.equal(drawn_log_probs, ours.log_prob(params, actions))


def test_categorical():
    ours = distribution_for(spaces.Discrete(5))
    params = params_for(ours, 200)
    theirs = oracle.Categorical(logits=params)
    check(ours, params, theirs.log_prob, theirs.entropy())
    assert torch.equal(ours.mode(params), params.argmax(-1))


def test_multicategorical():
    ours = distribution_for(spaces.MultiDiscrete([3, 4]))
    params = params_for(ours, 200)
    theirs = multidiscrete(params)
    entropy = sum(part.entropy() for part in theirs)
    check(ours, params, lambda a: sum(part.log_prob(a[:, i]) for i, part in enumerate(theirs)), entropy)


def test_bernoulli():
    ours = distribution_for(spaces.MultiBinary(6))
    params = params_for(ours, 200)
    theirs = oracle.Bernoulli(logits=params)
    check(ours, params, lambda a: theirs.log_prob(a.float()).sum(-1), theirs.entropy().sum(-1))


def test_gaussian():
    ours = distribution_for(BOX)
    params = params_for(ours, 200)
    theirs = oracle.Normal(params[:, :2], params[:, 2:].exp())
    check(ours, params, lambda a: theirs.log_prob(a).sum(-1), theirs.entropy().sum(-1))
    assert torch.equal(ours.mode(params), params[:, :2])


def test_beta():
    ours = distribution_for(BOX, "beta")
    params = params_for(ours, 200)
    alpha, beta = (BETA_SHARPNESS * torch.nn.functional.softplus(params) + 1).chunk(2, -1)
    theirs = oracle.Beta(alpha, beta)
    check(ours, params, lambda a: theirs.log_prob(a).sum(-1), theirs.entropy().sum(-1))
    assert torch.allclose(ours.mode(params), theirs.mean)


ROWS = 40_000
FOUR_SIGMA = 4 * 0.5 / ROWS**0.5  # a share's standard deviation is at most 0.5 / sqrt(rows)


def test_choices_are_drawn_as_often_as_they_are_likely():
    ours = distribution_for(spaces.Discrete(4))
    logits = torch.tensor([0.5, 0.25, 0.2, 0.05]).log()
    drawn = ours.sample(logits.expand(ROWS, 4), torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=4) / ROWS
    assert torch.allclose(shares, logits.exp(), atol=FOUR_SIGMA)


def test_switches_are_drawn_as_often_as_they_are_likely():
    ours = distribution_for(spaces.MultiBinary(2))
    params = torch.logit(torch.tensor([0.1, 0.7])).expand(ROWS, 2)
    shares = ours.sample(params, torch.Generator().manual_seed(0)).float().mean(0)
    assert torch.allclose(shares, torch.tensor([0.1, 0.7]), atol=FOUR_SIGMA)


@pytest.mark.parametrize("box", ["gaussian", "beta"])
def test_numbers_are_drawn_with_the_right_mean_and_spread(box):
    ours = distribution_for(BOX, box)
    params = torch.tensor([[0.5, -1.0, 0.2, -0.7]]).expand(ROWS, 4)
    alpha, beta = (BETA_SHARPNESS * torch.nn.functional.softplus(params) + 1).chunk(2, -1)
    theirs = oracle.Beta(alpha, beta) if box == "beta" else oracle.Normal(params[:, :2], params[:, 2:].exp())
    drawn = ours.sample(params, torch.Generator().manual_seed(0))
    assert torch.allclose(drawn.mean(0), theirs.mean[0], atol=0.03)
    assert torch.allclose(drawn.std(0), theirs.stddev[0], atol=0.03)


def test_a_masked_choice_has_no_probability_no_entropy_and_no_gradient():
    ours = distribution_for(spaces.Discrete(3))
    logits = torch.zeros(1000, 3, requires_grad=True)
    params = logits.masked_fill(torch.tensor([False, True, False]), MASKED)
    drawn = ours.sample(params.detach(), torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {0, 2}
    log_probs, entropy = ours.evaluate(params, drawn)
    assert torch.allclose(log_probs, torch.tensor(0.5).log())
    assert torch.allclose(entropy, torch.tensor(2.0).log())
    (log_probs.sum() + entropy.sum()).backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[:, 1].any()


def test_a_masked_switch_stays_off():
    ours = distribution_for(spaces.MultiBinary(2))
    params = torch.tensor([[0.0, MASKED]]).expand(100, 2)
    drawn = ours.sample(params, torch.Generator().manual_seed(0))
    assert not drawn[:, 1].any()
    log_probs, entropy = ours.evaluate(params, drawn)
    assert torch.allclose(log_probs, torch.tensor(0.5).log())
    assert torch.allclose(entropy, torch.tensor(2.0).log())


def test_actions_reach_the_env_in_its_own_shape_range_and_type():
    assert distribution_for(spaces.Discrete(3, start=5)).to_env(torch.tensor([0, 2])).tolist() == [5, 7]
    grid = spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]))
    assert distribution_for(grid).to_env(torch.zeros(6, 4, dtype=torch.int64)).shape == (6, 2, 2)
    switches = distribution_for(spaces.MultiBinary((2, 3))).to_env(torch.ones(4, 6, dtype=torch.int64))
    assert switches.shape == (4, 2, 3)
    assert switches.dtype == np.int8
    far = torch.tensor([[-9.0, 9.0]])
    assert distribution_for(BOX).to_env(far).tolist() == [[-1, 5]]
    assert distribution_for(BOX, "beta").to_env(torch.tensor([[0.5, 0.2]])).tolist() == [[0, 1]]


def test_what_cannot_be_acted_in_is_named():
    with pytest.raises(EnvError, match="PPO cannot act in Text"):
        distribution_for(spaces.Text(3))
    with pytest.raises(EnvError, match="bounded actions"):
        distribution_for(spaces.Box(-np.inf, np.inf, (2,)), "beta")
