"""The pieces of `bench train`, and one short real run of its cheapest case."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.api import make_pool
from parcade.bench.nature_env import ENV_ID, NatureEnv
from parcade.bench.networks import BareLearning, BareNetwork, sb3_policy
from parcade.bench.single_file_ppo import SingleFilePpo


@pytest.mark.long
def test_features_case_measures_everybody():
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra dev)")
    from parcade.bench.train_speed import Scale, bench_train

    small = Scale(n_envs=2, n_steps=64, batch_size=32, n_epochs=2)
    result = bench_train(["features-mlp"], rounds=1, scale=small, say=lambda text: None)
    assert result["bench"] == "train"
    (case,) = result["cases"]
    assert case["case"] == "features-mlp"
    assert {peer["name"] for peer in case["peers"]} == {"sb3-subproc", "sb3-dummy", "cleanrl-style"}
    for key in ("steps_per_s", "over_best_peer", "learn_of_limit", "limit_env_steps_per_s", "of_limit"):
        assert case[key] > 0, key
    best = max(peer["steps_per_s"] for peer in case["peers"])
    assert case["limit_over_best_peer"] == pytest.approx(case["limit_steps_per_s"] / best)  # one round: no medians


class OneOfTwo(gym.Env):
    """One step; the second action is worth a point."""

    observation_space, action_space = spaces.Box(0, 1, (3,), "float32"), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(3, "float32"), {}

    def step(self, action):
        return np.ones(3, "float32"), float(action), True, False, {}


def test_the_single_file_peer_learns():
    torch.manual_seed(0)
    network = BareNetwork("features-mlp", (3,), 2)
    vector_env = gym.vector.SyncVectorEnv([OneOfTwo] * 4)
    peer = SingleFilePpo(network, vector_env, n_steps=64, batch_size=32, n_epochs=4)
    for _ in range(8):
        assert peer.update() > 0
    assert network(torch.ones(1, 3))[0].softmax(-1)[0, 1] > 0.9


def test_nature_env_is_stepped_in_place_by_a_pool():
    with make_pool(ENV_ID, 2, n_workers=0, imports=("parcade.bench.nature_env",)) as pool:
        assert pool.envs[0].metric_names[0] == "success", "no wrapper stands between the pool and the env"
        assert isinstance(pool.envs[0], NatureEnv)
        pool.reset()
        picture = pool.observations()["obs"]
        assert picture.shape == (2, 4, 84, 84)
        assert picture[:, -1].any()
        assert not picture[:, 0].any()


def test_nature_env_keeps_the_gymnasium_contract():
    from gymnasium.utils.env_checker import check_env

    env = NatureEnv()
    try:
        check_env(env, skip_render_check=True)
    finally:
        env.close()


@pytest.mark.parametrize(
    ("case", "shape"), [("nature-cnn", (4, 84, 84)), ("small-cnn", (1, 72, 80)), ("features-mlp", (77,))]
)
def test_all_networks_are_the_same_size(case, shape):
    """Ours, SB3's and the bare one have as many weights, so the bench compares like with like."""
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra dev)")
    from parcade.bench.train_speed import CASES
    from parcade.learn.policy import NetSettings, Policy

    n_actions, pictures = 6, len(shape) == 3
    settings = CASES[case]
    net = NetSettings(cnn=settings.get("cnn", "small"), hidden=settings.get("hidden"))
    ours = Policy({"obs": (shape, "uint8" if pictures else "float32")}, spaces.Discrete(n_actions), net)
    low, high = (0, 255) if pictures else (-1, 1)
    space = spaces.Box(low, high, shape, "uint8" if pictures else "float32")
    name, arguments = sb3_policy(case)
    theirs = sb3.PPO.policy_aliases[name](space, spaces.Discrete(n_actions), lambda _: 1e-3, **arguments)
    bare = BareNetwork(case, shape, n_actions)
    counts = [sum(p.numel() for p in network.parameters()) for network in (ours, theirs, bare)]
    assert counts[0] == counts[1] == counts[2], counts


def test_bare_learning_changes_the_weights():
    bare = BareLearning("features-mlp", (5,), 3, 8)
    before = [p.detach().clone() for p in bare._network.parameters()]
    assert bare.turn(0.01) > 0
    assert any(not torch.equal(a, b) for a, b in zip(before, bare._network.parameters(), strict=True))
