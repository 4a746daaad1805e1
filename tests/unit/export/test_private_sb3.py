"""What Stable-Baselines3 keeps private may be gone in its next release: the export says so and names another format."""

import pytest
import torch
from gymnasium import spaces

from parcade.export import sb3_file
from parcade.learn.encoders import LeafShape
from parcade.learn.policy import NetSettings, Policy

SPACE = spaces.Box(-1, 1, (3,))


@pytest.fixture(autouse=True)
def probed_anew():
    sb3_file.builds_without_env.cache_clear()
    yield
    sb3_file.builds_without_env.cache_clear()


def test_this_sb3_builds_a_policy_without_an_env():
    assert sb3_file.builds_without_env()


def test_an_sb3_that_needs_an_env_is_refused(monkeypatch, tmp_path):
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
    from stable_baselines3.ppo import PPO

    monkeypatch.delattr(PPO, "_setup_model")
    monkeypatch.delattr(OnPolicyAlgorithm, "_setup_model")
    torch.manual_seed(1)
    policy = Policy({"obs": LeafShape((3,), "float32")}, spaces.Discrete(2), NetSettings(hidden=(4,)))
    expected = (
        r"^Stable-Baselines3 [\d.]+ does not build a policy without an env as 2\.9 does; install .*, or use --to onnx"
    )
    with pytest.raises(sb3_file.Sb3Error, match=expected):
        sb3_file.write(policy, tmp_path / "policy.zip", SPACE)
    assert not list(tmp_path.iterdir())
