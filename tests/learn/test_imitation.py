"""A second algorithm behind the same loop: cloning recorded play."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from tiny_envs import Maze, bench

from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError, ModelFileError, SettingsError
from parcade.learn.encoders import LeafShape
from parcade.learn.imitation import Cloning, CloningSettings, Demonstrations
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.sampling import sampler_for
from parcade.run.model_file import load_model
from parcade.train.assembly import leaf_shapes
from parcade.train.demonstrations import demonstrations_for, load_demos
from parcade.train.evaluation import play_episodes
from parcade.train.recording import record, record_policy
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


def shown_by(expert, episodes, deterministic=True, n_workers=0):
    records = record_policy(expert.policy, maze_spec(), episodes, 3, deterministic, n_workers)
    sampler = sampler_for(expert.policy.action_space)
    return demonstrations_for(records, maze_spec(), sampler, "demos.zip"), records


def test_a_clone_plays_as_well_as_the_one_it_watched(expert):
    shown, _ = shown_by(expert, 150)
    torch.manual_seed(5)
    policy = Policy(leaf_shapes(expert.pool.observation_space), expert.pool.action_space, NetSettings(hidden=(64, 64)))
    before = play_episodes(policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    cloning = Cloning(policy, CloningSettings(learning_rate=3e-3, batch_size=64), shown, 0)
    losses = [cloning.update(expert.pool.block)["clone_loss"] for _ in range(20)]
    after = play_episodes(policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    wanted = play_episodes(expert.policy, maze_spec(), episodes=100, deterministic=True, n_workers=0).return_mean
    assert losses[-1] < 0.2 * losses[0]
    assert before < 0.5 < 0.75 < wanted
    assert after > wanted - 0.05


def test_whole_episodes_are_recorded_whatever_the_workers(expert):
    one, records = shown_by(expert, 7, deterministic=False)
    played = play_episodes(expert.policy, maze_spec(), episodes=7, seed=3, n_workers=0).episodes
    assert [(r.seed, r.length, r.total_reward) for r in records] == [(e.seed, e.length, e.total_reward) for e in played]
    two, _ = shown_by(expert, 7, deterministic=False, n_workers=2)
    assert one.obs["obs"].tobytes() == two.obs["obs"].tobytes()
    assert one.actions.tolist() == two.actions.tolist()
    assert len(one) == sum(e.length for e in played)


def test_the_loop_trains_saves_and_resumes_it_like_any_other(tmp_path):
    settings = {"env_id": "CartPole-v1", "n_envs": 4, "n_steps": 32, "n_workers": 0, "log_root": str(tmp_path)}
    settings |= {"eval_freq": 0, "final_eval_episodes": 0, "video": False, "save_freq": 128}
    expert = train(**settings, run_name="expert", total_timesteps=512)
    file = tmp_path / "demos.zip"
    assert [r.facts() for r in record(expert.model, file, episodes=3, n_workers=0)] == [
        r.facts() for r in load_demos(file)
    ]
    clone = {**settings, "algorithm": "cloning", "demos": str(file), "batch_size": 16}
    whole = train(**clone, run_name="whole", total_timesteps=512)
    half = train(**clone, run_name="half", total_timesteps=256)
    again = resume(half.run_dir, total_timesteps=512)
    assert load_model(whole.model).meta["algorithm"] == "cloning"
    assert load_model(expert.model).meta["algorithm"] == "ppo"
    assert again.env_steps == whole.env_steps == 512
    with pytest.raises(ModelFileError, match="the checkpoint is of 'cloning', the run of 'cloning, ppo'"):
        resume(half.run_dir, total_timesteps=640, algorithm="ppo")


def test_what_does_not_fit_is_refused(tmp_path, expert):
    shown, _ = shown_by(expert, 2)
    obs, actions = shown.obs, shown.actions
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
    file = tmp_path / "demos.zip"
    file.write_bytes(b"no zip")
    with pytest.raises(EpisodeFileError, match="is not a Parcade recording file"):
        train(env_id="CartPole-v1", algorithm="cloning", demos=str(file), n_envs=2, n_workers=0, log_root=str(tmp_path))


SPACES = {
    "one choice": (spaces.Discrete(3, start=5), np.array([0, 2]), [np.array([3, 0]), np.array([-1, 0]), np.zeros(2)]),
    "choices": (spaces.MultiDiscrete([2, 3]), np.array([[1, 2]]), [np.array([[2, 0]]), np.array([[0, -1]])]),
    "switches": (spaces.MultiBinary(2), np.array([[0, 1]]), [np.array([[0, 2]])]),
    "axes": (spaces.Box(-1, 1, (2,)), np.float32([[9, -9]]), [np.float32([[np.nan, 0]]), np.float64([[0, 0]])]),
}


@pytest.mark.parametrize("name", SPACES)
def test_actions_that_nobody_can_take_are_refused(name):
    space, good, bad = SPACES[name]
    policy = Policy({"obs": LeafShape((4,), "float32")}, space, NetSettings(hidden=(8,)))
    obs = {"obs": np.zeros((2, 4), np.float32)}
    Cloning(policy, CloningSettings(), Demonstrations({"obs": obs["obs"][: len(good)]}, good), 0)
    for actions in bad:
        with pytest.raises(SettingsError, match="actions that nobody can take"):
            Cloning(policy, CloningSettings(), Demonstrations({"obs": obs["obs"][: len(actions)]}, actions), 0)


def test_a_share_of_a_bounded_axis_is_between_its_ends():
    policy = Policy({"obs": LeafShape((4,), "float32")}, spaces.Box(-1, 1, (1,)), NetSettings(hidden=(8,), box="beta"))
    obs = {"obs": np.zeros((1, 4), np.float32)}
    Cloning(policy, CloningSettings(), Demonstrations(obs, np.float32([[0.5]])), 0)
    for share in (0.0, 1.0, np.nan):
        with pytest.raises(SettingsError, match="actions that nobody can take"):
            Cloning(policy, CloningSettings(), Demonstrations(obs, np.float32([[share]])), 0)


@pytest.mark.parametrize(
    ("leaf", "rows"),
    [
        (LeafShape((2,), "float32"), np.float32([[0, np.inf]])),
        (LeafShape((2,), "float32"), np.float64([[0, 1]])),
        (LeafShape((2,), "int64", ((3, 0), (2, 4))), np.array([[3, 4]])),
        (LeafShape((2,), "int64", ((3, 0), (2, 4))), np.array([[0, 3]])),
    ],
)
def test_observations_that_the_env_cannot_show_are_refused(leaf, rows):
    policy = Policy({"obs": leaf}, spaces.Discrete(2), NetSettings(hidden=(8,)))
    with pytest.raises(SettingsError, match="that the env cannot show"):
        Cloning(policy, CloningSettings(), Demonstrations({"obs": rows}, np.array([1])), 0)
