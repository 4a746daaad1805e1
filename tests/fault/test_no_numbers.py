"""An env that gives NaN ends the run with a sentence, and the checkpoint before it stays."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade import train
from parcade.config.settings import make_settings
from parcade.errors import ModelFileError, RunError
from parcade.run.checkpoint import list_checkpoints, load_newest
from parcade.run.directory import RunFolder
from parcade.train.evaluation import evaluate
from parcade.train.training import Training

SETTINGS = {
    **{"n_envs": 2, "n_steps": 16, "batch_size": 16, "n_workers": 0, "save_freq": 1, "total_timesteps": 128},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False},
}


class TurnsBad(gym.Env):
    """Fine for forty steps, then its reward is no number."""

    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(3, np.float32), float("nan") if self.steps > 40 else 1.0, False, False, {}


def test_a_reward_that_is_no_number_ends_the_run(tmp_path):
    gym.register("TurnsBad-v0", TurnsBad, disable_env_checker=True)
    try:
        folder = RunFolder.create(str(tmp_path), "run")
        settings = make_settings({**SETTINGS, "env_id": "TurnsBad-v0", "log_root": str(tmp_path)})
        with Training(settings, folder, None) as run:
            run.begin()
            with pytest.raises(RunError, match="losses after step 64 are no numbers"):
                run.run()
    finally:
        gym.registry.pop("TurnsBad-v0")
    assert len(list_checkpoints(folder.checkpoints)) == 2
    assert load_newest(folder.checkpoints).meta["env_steps"] == 64


class ThreeActions(TurnsBad):
    """Looks like CartPole but is steered otherwise."""

    observation_space = spaces.Box(-1, 1, (4,), np.float32)
    action_space = spaces.Discrete(3)


def test_a_model_with_other_actions_is_refused(tmp_path):
    run = train(env_id="CartPole-v1", **SETTINGS, log_root=str(tmp_path))
    gym.register("ThreeActions-v0", ThreeActions, disable_env_checker=True)
    try:
        with pytest.raises(ModelFileError, match=r"acts in Discrete\(2\), but ThreeActions-v0 takes Discrete\(3\)"):
            evaluate(run.model, episodes=1, env_id="ThreeActions-v0", n_workers=0)
    finally:
        gym.registry.pop("ThreeActions-v0")
