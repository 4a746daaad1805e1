"""Stable-Baselines3's own PPO.train() as the oracle: same weights, same rollout, same minibatch."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from tiny_envs import Walk, bench

from parcade.learn.loss import ppo_loss
from parcade.learn.policy import NetSettings

sb3 = pytest.importorskip("stable_baselines3")

VECTOR = spaces.Box(-1, 1, (6,), np.float32)
PICTURE = spaces.Box(0, 255, (4, 36, 36), np.uint8)
BOX = spaces.Box(-1, 1, (3,), np.float32)
CASES = {
    "vector-discrete": (VECTOR, spaces.Discrete(4)),
    "vector-box": (VECTOR, BOX),
    "vector-multidiscrete": (VECTOR, spaces.MultiDiscrete([3, 4])),
    "vector-multibinary": (VECTOR, spaces.MultiBinary(5)),
    "picture-discrete": (PICTURE, spaces.Discrete(4)),
    "picture-box": (PICTURE, BOX),
}
T, N = 16, 8
PPO = {
    "ent_coef": 0.02,
    "vf_coef": 0.7,
    "clip_range": 0.1,
    "clip_range_vf": 0.15,
    "gamma": 0.97,
    "gae_lambda": 0.9,
    "batch_size": T * N,
    "n_epochs": 1,
}


class OnlyDeaths(Walk):
    def step(self, action):
        seen, reward, over, cut, info = super().step(action)
        return seen, reward, over or cut, False, info


def names(picture: bool) -> dict[str, str]:
    """Our parameter names -> SB3's."""
    found = {"log_std": "log_std"}
    for ours, theirs, last in (("actor", "policy_net", "action_net"), ("critic", "value_net", "value_net")):
        layers = [] if picture else [(f"{ours}.{i}", f"mlp_extractor.{theirs}.{i}") for i in (0, 2)]
        found |= _both([*layers, (f"{ours}.{0 if picture else 4}", last)])
    if picture:
        layers = [(f"convolutions.{i}", f"cnn.{i}") for i in (0, 2, 4)] + [("head.0", "linear.0")]
        found |= _both([(f"encoders.obs.{ours}", f"features_extractor.{theirs}") for ours, theirs in layers])
    return found


def _both(layers):
    return {f"{ours}.{kind}": f"{theirs}.{kind}" for ours, theirs in layers for kind in ("weight", "bias")}


def make_both(observation, action):
    """Return our bench with a rollout collected, and an SB3 PPO with the same weights and the same rollout."""
    picture = observation is PICTURE
    net = NetSettings(cnn="nature", hidden=() if picture else (64, 64))
    trained = bench(lambda: OnlyDeaths(observation, action), n_envs=N, n_steps=T, net=net, learning_rate=1e-3, **PPO)
    torch.nn.init.normal_(trained.policy.actor[-1].weight, std=0.1)
    rollout = trained.learner.prepare(trained.collect())
    arch = {} if picture else {"net_arch": [64, 64]}
    env = sb3.common.env_util.make_vec_env(lambda: OnlyDeaths(observation, action), N)
    theirs = sb3.PPO(
        "CnnPolicy" if picture else "MlpPolicy",
        env,
        n_steps=T,
        learning_rate=1e-3,
        policy_kwargs={**arch, "normalize_images": True},
        device="cpu",
        **PPO,
    )
    theirs.set_logger(sb3.common.logger.Logger(None, []))
    weights = theirs.policy.state_dict()
    own = trained.policy.state_dict()
    pairs = {ours: name for ours, name in names(picture).items() if ours in own}
    assert set(pairs) == set(own)
    theirs.policy.load_state_dict({**weights, **{name: own[ours].clone() for ours, name in pairs.items()}})
    fill(theirs, rollout)
    return trained, theirs, pairs, rollout


def fill(theirs, rollout):
    buffer = theirs.rollout_buffer
    buffer.reset()
    starts = np.zeros(N, bool)
    for t in range(T):
        actions = rollout.actions[t].numpy().reshape(N, -1)
        values = torch.from_numpy(rollout.values[t].copy())
        buffer.add(
            rollout.obs["obs"][t].numpy(), actions, rollout.rewards[t], starts, values, rollout.log_probs[t].clone()
        )
        starts = rollout.terminated[t].copy()
    buffer.compute_returns_and_advantage(torch.from_numpy(rollout.values[T].copy()), starts)


@pytest.mark.parametrize("case", CASES)
def test_losses_and_gradients_are_those_of_sb3(case):
    trained, theirs, pairs, rollout = make_both(*CASES[case])
    learner = trained.learner
    shift = torch.linspace(-0.3, 0.3, N)  # so that ratios leave the clip range on both sides
    rollout.log_probs += shift
    theirs.rollout_buffer.log_probs += shift.numpy()
    before = {name: weight.clone() for name, weight in theirs.policy.state_dict().items()}
    theirs.policy.optimizer = torch.optim.SGD(theirs.policy.parameters(), lr=1.0)  # the step is the gradient
    theirs.lr_schedule, theirs.max_grad_norm = (lambda _: 1.0), 1e9
    theirs.train()
    said = theirs.logger.name_to_value

    learner._estimate_advantages(rollout, rollout.rewards)
    assert np.allclose(rollout.advantages.numpy(), theirs.rollout_buffer.advantages.reshape(N, T).T, atol=1e-5)
    batch = next(next(learner.minibatches.epochs(rollout)))
    losses = ppo_loss(trained.policy, batch, learner.settings)
    assert losses.policy.item() == pytest.approx(said["train/policy_gradient_loss"], abs=1e-5)
    assert losses.value.item() == pytest.approx(said["train/value_loss"], rel=1e-5)
    assert losses.entropy.item() == pytest.approx(-said["train/entropy_loss"], rel=1e-5)
    assert losses.total.item() == pytest.approx(said["train/loss"], rel=1e-4, abs=1e-5)
    assert 0.1 < said["train/clip_fraction"] < 0.9
    parameters = dict(trained.policy.named_parameters())
    gradients = dict(zip(parameters, torch.autograd.grad(losses.total, list(parameters.values())), strict=True))
    after = theirs.policy.state_dict()
    for ours, name in pairs.items():
        wanted = before[name] - after[name]
        scale = max(float(wanted.abs().max()), 1e-3)
        assert torch.allclose(gradients[ours], wanted, atol=2e-4 * scale), (ours, scale)


@pytest.mark.parametrize("case", ["vector-discrete", "vector-box", "picture-discrete"])
def test_whole_updates_end_in_the_weights_of_sb3(case):
    trained, theirs, pairs, rollout = make_both(*CASES[case])
    for _ in range(3):  # clipped gradients and Adam, three times over the same rollout
        numbers = trained.learner.learn(rollout)
        theirs.train()
    said = theirs.logger.name_to_value
    assert numbers["explained_variance"] == pytest.approx(said["train/explained_variance"], abs=1e-4)
    own, weights = trained.policy.state_dict(), theirs.policy.state_dict()
    for ours, name in pairs.items():
        assert torch.allclose(own[ours], weights[name], atol=1e-4), ours
