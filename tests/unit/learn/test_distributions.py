import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import distributions as oracle

from parcade.errors import EnvError
from parcade.learn.distributions import distribution_for
from parcade.learn.sampling import BETA_SHARPNESS, MASKED, EpisodeNoise, sampler_for

LOW, HIGH = np.array([-1, 0], np.float32), np.array([1, 5], np.float32)
BOX = spaces.Box(LOW, HIGH)


def params_for(distribution, rows, seed=0):
    params = torch.randn(rows, distribution.n_params, generator=torch.Generator().manual_seed(seed))
    if distribution.n_free:
        params = torch.cat([params, 0.3 * params.flip(-1)], -1)
    return params


def multidiscrete(params):
    return [oracle.Categorical(logits=params[:, :3]), oracle.Categorical(logits=params[:, 3:])]


def sample(space, params, box="gaussian", seed=0):
    """Draw an action for each row, as a worker does."""
    sampler = sampler_for(space, box)
    params = params.numpy()
    return torch.from_numpy(sampler.draw(params, sampler.noise(np.random.default_rng(seed), len(params))))


def check(space, params, log_probs, entropy, box="gaussian"):
    ours, actions = distribution_for(space, box), sample(space, params, box)
    found, entropies = ours.evaluate(params, actions)
    assert torch.allclose(found, log_probs(actions), atol=1e-5)
    assert torch.allclose(entropies, entropy, atol=1e-5)


def mode(space, params, box="gaussian"):
    return torch.from_numpy(sampler_for(space, box).draw(params.numpy(), None))


def test_categorical():
    ours = distribution_for(spaces.Discrete(5))
    params = params_for(ours, 200)
    theirs = oracle.Categorical(logits=params)
    check(spaces.Discrete(5), params, theirs.log_prob, theirs.entropy())
    assert torch.equal(mode(spaces.Discrete(5), params), params.argmax(-1))


def test_multicategorical():
    ours = distribution_for(spaces.MultiDiscrete([3, 4]))
    params = params_for(ours, 200)
    theirs = multidiscrete(params)
    entropy = sum(part.entropy() for part in theirs)
    check(
        spaces.MultiDiscrete([3, 4]),
        params,
        lambda a: sum(part.log_prob(a[:, i]) for i, part in enumerate(theirs)),
        entropy,
    )


def test_bernoulli():
    ours = distribution_for(spaces.MultiBinary(6))
    params = params_for(ours, 200)
    theirs = oracle.Bernoulli(logits=params)
    check(spaces.MultiBinary(6), params, lambda a: theirs.log_prob(a.float()).sum(-1), theirs.entropy().sum(-1))


def test_gaussian():
    ours = distribution_for(BOX)
    params = params_for(ours, 200)
    theirs = oracle.Normal(params[:, :2], params[:, 2:].exp())
    check(BOX, params, lambda a: theirs.log_prob(a).sum(-1), theirs.entropy().sum(-1))
    assert torch.equal(mode(BOX, params), params[:, :2])


def test_beta():
    ours = distribution_for(BOX, "beta")
    params = params_for(ours, 200)
    alpha, beta = (BETA_SHARPNESS * torch.nn.functional.softplus(params) + 1).chunk(2, -1)
    theirs = oracle.Beta(alpha, beta)
    check(BOX, params, lambda a: theirs.log_prob(a).sum(-1), theirs.entropy().sum(-1), "beta")
    assert torch.allclose(mode(BOX, params, "beta"), theirs.mean)


ROWS = 40_000
FOUR_SIGMA = 4 * 0.5 / ROWS**0.5  # a share's standard deviation is at most 0.5 / sqrt(rows)


def test_choices_are_drawn_as_often_as_they_are_likely():
    logits = torch.tensor([0.5, 0.25, 0.2, 0.05]).log()
    drawn = sample(spaces.Discrete(4), logits.expand(ROWS, 4))
    shares = torch.bincount(drawn, minlength=4) / ROWS
    assert torch.allclose(shares, logits.exp(), atol=FOUR_SIGMA)


def test_switches_are_drawn_as_often_as_they_are_likely():
    params = torch.logit(torch.tensor([0.1, 0.7])).expand(ROWS, 2)
    shares = sample(spaces.MultiBinary(2), params).float().mean(0)
    assert torch.allclose(shares, torch.tensor([0.1, 0.7]), atol=FOUR_SIGMA)


@pytest.mark.parametrize("box", ["gaussian", "beta"])
def test_numbers_are_drawn_with_the_right_mean_and_spread(box):
    params = torch.tensor([[0.5, -1.0, 0.2, -0.7]]).expand(ROWS, 4)
    alpha, beta = (BETA_SHARPNESS * torch.nn.functional.softplus(params) + 1).chunk(2, -1)
    theirs = oracle.Beta(alpha, beta) if box == "beta" else oracle.Normal(params[:, :2], params[:, 2:].exp())
    drawn = sample(BOX, params, box)
    assert torch.allclose(drawn.mean(0), theirs.mean[0], atol=0.03)
    assert torch.allclose(drawn.std(0), theirs.stddev[0], atol=0.03)


def test_beta_draws_have_the_whole_shape_of_the_distribution():
    params = torch.tensor([[-3.0, 1.0, 0.4, -2.0]]).expand(ROWS, 4)
    alpha, beta = (BETA_SHARPNESS * torch.nn.functional.softplus(params[0]) + 1).chunk(2, -1)
    drawn = sample(BOX, params, "beta").numpy().astype(np.float64)
    points = np.linspace(0.02, 0.98, 49)
    for axis in range(2):
        exact = np.random.default_rng(1).beta(float(alpha[axis]), float(beta[axis]), ROWS)
        shares = [(numbers[:, None] < points).mean(0) for numbers in (drawn[:, axis], exact)]
        assert np.abs(shares[0] - shares[1]).max() < 0.015, axis


def test_a_masked_choice_has_no_probability_no_entropy_and_no_gradient():
    ours = distribution_for(spaces.Discrete(3))
    logits = torch.zeros(1000, 3, requires_grad=True)
    params = logits.masked_fill(torch.tensor([False, True, False]), MASKED)
    drawn = sample(spaces.Discrete(3), params.detach())
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
    drawn = sample(spaces.MultiBinary(2), params)
    assert not drawn[:, 1].any()
    log_probs, entropy = ours.evaluate(params, drawn)
    assert torch.allclose(log_probs, torch.tensor(0.5).log())
    assert torch.allclose(entropy, torch.tensor(2.0).log())


def test_actions_reach_the_env_in_its_own_shape_and_range():
    assert sampler_for(spaces.Discrete(3, start=5)).to_env(np.array([0, 2])).tolist() == [5, 7]
    grid = spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[0, 0], [1, 0]]))
    assert sampler_for(grid).to_env(np.zeros((6, 4), int)).tolist() == [[[0, 0], [1, 0]]] * 6
    assert sampler_for(spaces.MultiBinary((2, 3))).to_env(np.ones((4, 6), int)).shape == (4, 2, 3)
    assert sampler_for(BOX).to_env(np.array([[-9.0, 9.0]])).tolist() == [[-1, 5]]
    assert sampler_for(BOX, "beta").to_env(np.array([[0.5, 0.2]])).tolist() == [[0, 1]]


def test_what_cannot_be_acted_in_is_named():
    for find in (distribution_for, sampler_for):
        with pytest.raises(EnvError, match="a policy cannot act in Text"):
            find(spaces.Text(3))
    with pytest.raises(EnvError, match="bounded actions"):
        sampler_for(spaces.Box(-np.inf, np.inf, (2,)), "beta")


def test_noise_belongs_to_an_episode_and_its_step_and_to_nothing_else():
    sampler = sampler_for(spaces.Discrete(3))
    seeds, steps = np.array([4, 9, 4]), np.array([0, 70, 70])
    together = EpisodeNoise(sampler, 1, 3).at(seeds, steps)
    assert (together[0] != together[2]).all()
    for row in range(3):
        alone = EpisodeNoise(sampler, 1, 1)
        if row == 1:
            alone.at(np.array([8]), np.array([3]))  # another episode was played before
        assert (alone.at(seeds[row : row + 1], steps[row : row + 1]) == together[row]).all()
    assert (EpisodeNoise(sampler, 2, 3).at(seeds, steps) != together).all()
