"""A second algorithm behind the same loop: cloning recorded play."""

import numpy as np
import pytest
import torch
from tiny_envs import Maze, bench

from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError, SettingsError
from parcade.learn.imitation import Cloning, CloningSettings, Demonstrations
from parcade.learn.policy import NetSettings, Policy
from parcade.run.demonstration_file import load_demonstrations
from parcade.run.model_file import load_model
from parcade.train.assembly import leaf_shapes
from parcade.train.evaluation import play_episodes
from parcade.train.recording import record, record_steps
from parcade.train.resume import resume
from parcade.train.start import train


@pytest.fixture(scope="module")
def expert():
    """A policy that has learned the maze from rewards."""
    trained = bench(Maze)
    trained.returns(40)
    return trained


def maze_spec():
    import cloudpickle

    return EnvSpec(factory=cloudpickle.dumps(Maze))


def test_a_clone_plays_as_well_as_the_one_it_watched(expert):
    obs, actions = record_steps(expert.policy, maze_spec(), 150, 3, deterministic=True, n_workers=0)
    torch.manual_seed(5)
    policy = Policy(leaf_shapes(expert.pool.observation_space), expert.pool.action_space, NetSettings(hidden=(64, 64)))
    before = play_episodes(policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    cloning = Cloning(policy, CloningSettings(learning_rate=3e-3, batch_size=64), Demonstrations(obs, actions), 0)
    losses = [cloning.update(expert.pool.block)["clone_loss"] for _ in range(20)]
    after = play_episodes(policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    wanted = play_episodes(expert.policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    assert losses[-1] < 0.2 * losses[0]
    assert before < 0.5 < 0.75 < wanted
    assert after > wanted - 0.05


def test_only_steps_of_episodes_are_recorded_whatever_the_workers(expert):
    one = record_steps(expert.policy, maze_spec(), 7, 3, deterministic=False, n_workers=0)
    lengths = [e.length for e in play_episodes(expert.policy, maze_spec(), episodes=7, seed=3, n_workers=0).episodes]
    assert len(one[1]) == sum(lengths)
    two = record_steps(expert.policy, maze_spec(), 7, 3, deterministic=False, n_workers=2)

    def rows(found):
        return sorted(np.concatenate([found[0]["obs"], found[1][:, None]], 1).tolist())

    assert rows(one) == rows(two)


def test_the_loop_trains_saves_and_resumes_it_like_any_other(tmp_path):
    settings = {"env_id": "CartPole-v1", "n_envs": 4, "n_steps": 32, "n_workers": 0, "log_root": str(tmp_path)}
    settings |= {"eval_freq": 0, "final_eval_episodes": 0, "video": False, "save_freq": 128}
    expert = train(**settings, run_name="expert", total_timesteps=512)
    file = tmp_path / "demos.zip"
    assert record(expert.model, file, episodes=3, n_workers=0) == len(load_demonstrations(file)[1])
    clone = {**settings, "algorithm": "cloning", "demonstrations": str(file), "batch_size": 16}
    whole = train(**clone, run_name="whole", total_timesteps=512)
    half = train(**clone, run_name="half", total_timesteps=256)
    again = resume(half.run_dir, total_timesteps=512)
    assert load_model(whole.model).meta["algorithm"] == "cloning"
    assert load_model(expert.model).meta["algorithm"] == "ppo"
    assert again.env_steps == whole.env_steps == 512
    with pytest.raises(ModelFileError, match="the checkpoint is of 'cloning', the run of 'ppo'"):
        resume(half.run_dir, total_timesteps=640, algorithm="ppo")


def test_what_does_not_fit_is_refused(tmp_path, expert):
    obs, actions = record_steps(expert.policy, maze_spec(), 2, 3, deterministic=True, n_workers=0)
    lstm = Policy(leaf_shapes(expert.pool.observation_space), expert.pool.action_space, NetSettings(lstm=8))
    with pytest.raises(SettingsError, match="needs a policy without memory"):
        Cloning(lstm, CloningSettings(), Demonstrations(obs, actions), 0)
    with pytest.raises(SettingsError, match="the demonstrations show"):
        Cloning(expert.policy, CloningSettings(), Demonstrations({"obs": obs["obs"][:, :3]}, actions), 0)
    with pytest.raises(SettingsError, match="hold actions of shape"):
        Cloning(expert.policy, CloningSettings(), Demonstrations(obs, np.zeros((len(actions), 2))), 0)
    with pytest.raises(SettingsError, match="needs demonstrations"):
        train(env_id="CartPole-v1", algorithm="cloning", n_envs=2, n_workers=0, log_root=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
