"""Envs of the user's own, in Python and on the command line: functions, classes, ids of a script; loaded policies."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import toy_envs as toys
from gymnasium import spaces

import parcade
from parcade.errors import ModelFileError, SettingsError, UserError
from parcade.train import events
from parcade.train.evaluation import first_seed

SMALL = {"n_envs": 4, "n_steps": 16, "batch_size": 32, "eval_freq": 0, "final_eval_episodes": 2, "video": False}
OWN = '''
import gymnasium
import numpy as np


class Corner(gymnasium.Env):
    """Success is to say 1 four times."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, limit=4, render_mode=None):
        self.limit = limit

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.said = self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.said, self.steps = self.said + int(action), self.steps + 1
        over = self.steps == self.limit
        info = {"is_success": self.said == self.limit, "said": self.said}
        return np.array([self.said], np.float32), 7.0 * action, over, False, info
'''


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=180, cwd=cwd)


def parcade_train(folder: Path, *words: str) -> dict:
    flags = ["--timesteps", "128", "--n-envs", "4", "--n-steps", "16", "--n-workers", "2", "--eval-freq", "0"]
    flags += ["--final-eval-episodes", "3", "--no-video", "--json"]
    done = run("-m", "parcade.cli.main", "train", *flags, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def rows_of(folder):
    """Return the rows of updates; the last line of metrics.jsonl may be the final evaluation's."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "losses" in row]


@pytest.mark.long
def test_success_and_chosen_keys_of_the_info_reach_metrics_monitors_and_evaluations(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    result = parcade_train(tmp_path, "--env-id", "own:Corner", "--info-keys", "said", "--reward-clip", "1")
    folder = tmp_path / result["run_dir"]
    row = rows_of(folder)[-1]
    assert 0 <= row["success_rate"] <= 1
    assert row["game"]["said"] == pytest.approx(row["return_mean"])  # rewards are clipped to 1
    assert row["game"]["raw_return"] == pytest.approx(7 * row["return_mean"])
    with (folder / "monitor" / "env_0.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert set(lines[0]) == {"return", "length", "env_steps", "success", "said", "raw_return"}
    assert all(float(line["raw_return"]) == 7 * float(line["return"]) for line in lines)
    assert result["evaluation"]["success_rate"] is not None
    done = run("-m", "parcade.cli.main", "eval", "--model", result["model"], "--json", "--list", cwd=tmp_path)
    assert done.returncode == 2
    assert "names the module 'own', which is not imported unasked" in done.stderr
    words = ["eval", "--model", result["model"], "--env-id", "own:Corner", "--json", "--list"]
    done = run("-m", "parcade.cli.main", *words, cwd=tmp_path)
    episodes = json.loads(done.stdout.splitlines()[-1])["episode_list"]
    assert all(set(episode["metrics"]) == {"success", "said"} for episode in episodes)
    assert all(episode["return"] == 7 * episode["metrics"]["said"] for episode in episodes)


def test_an_env_that_tells_no_success_has_none(tmp_path):
    result = parcade.train(env=toys.Toy, log_root=str(tmp_path), n_workers=0, total_timesteps=64, **SMALL)
    assert result.success_rate is result.train_success_rate is None
    row = rows_of(Path(result.run_dir))[-1]
    assert row["success_rate"] is None


@pytest.mark.long
def test_gymnasiums_module_and_id(tmp_path):
    (tmp_path / "own.py").write_text(OWN + "\ngymnasium.register('Corner-v2', 'own:Corner', max_episode_steps=2)\n")
    for name in ("own:Corner-v2", "own:Corner"):  # the id is looked up first, as Gymnasium does
        result = parcade_train(tmp_path, "--env-id", name)
        assert result["evaluation"]["length_mean"] == 2


def test_what_is_neither_id_nor_class_is_told(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    done = run("-m", "parcade.cli.main", "train", "--env-id", "own:np", cwd=tmp_path)
    assert done.returncode == 2
    assert "own:np is a module, wanted a subclass of gymnasium.Env" in done.stderr.splitlines()[-1]


def test_a_function_trains_resumes_and_evaluates(tmp_path):
    def make():
        return toys.Telling()

    result = parcade.train(env=make, log_root=str(tmp_path), n_workers=1, total_timesteps=64, **SMALL)
    folder = Path(result.run_dir)
    assert folder.parent.name.endswith("make")
    assert result.success_rate is not None
    with pytest.raises(SettingsError, match=r"is a function in Python, which no file can hold; give it with env="):
        parcade.resume(folder, total_timesteps=128)
    with pytest.raises(SettingsError, match="was made by a function in Python, which no file can hold"):
        parcade.evaluate(result.model)
    again = parcade.resume(folder, env=make, total_timesteps=128)
    assert again.env_steps == 128
    assert parcade.evaluate(again.model, env=make, episodes=3).success_rate is not None
    assert len(parcade.evaluate(random=True, env=make, episodes=3).episodes) == 3
    whole = parcade.train(env=make, log_root=str(tmp_path), n_workers=0, total_timesteps=128, **SMALL)
    assert whole.return_mean == again.return_mean
    done = run("-m", "parcade.cli.main", "resume", str(folder), "--timesteps", "192", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    done = run("-m", "parcade.cli.main", "eval", "--model", again.model, cwd=tmp_path)
    assert done.returncode == 2
    assert "was made by a function in Python" in done.stderr


@pytest.mark.parametrize(
    "actions", [spaces.MultiDiscrete([[2, 3], [4, 5]]), spaces.Box(-1, 1, ()), spaces.MultiBinary([2, 3])]
)
def test_actions_of_any_shape_are_trained_and_evaluated(tmp_path, actions):
    class Shaped(toys.Toy):
        action_space = actions

        def step(self, action):
            assert actions.contains(action)
            return super().step(0)

    result = parcade.train(env=Shaped, log_root=str(tmp_path), n_workers=0, total_timesteps=128, **SMALL)
    assert actions.contains(parcade.load_policy(result.model).act(Shaped().reset()[0]))


def test_what_is_no_env_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="env is a Toy, wanted a title, a Gymnasium id or a function"):
        parcade.train(env=toys.Toy(), log_root=str(tmp_path))
    result = parcade.train(env="CartPole-v1", log_root=str(tmp_path), n_workers=0, total_timesteps=64, **SMALL)
    with pytest.raises(SettingsError, match="trains in CartPole-v1; it cannot go on in the env of a function"):
        parcade.resume(result.run_dir, env=toys.Toy, total_timesteps=128)


@pytest.mark.parametrize("method", ["auto", "spawn", "forkserver"])
def test_an_id_of_the_users_own_script_is_known_in_workers(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(
        OWN
        + textwrap.dedent(f"""
        import parcade

        gymnasium.register("Mine-v3", Corner, kwargs={{"limit": 3}})
        with parcade.make_pool("Mine-v3", 2, n_workers=2, start_method={method!r}) as pool:
            rows = pool.reset()
            print(rows["obs"].shape)
            for _ in range(3):
                pool.send(np.ones(2, int))
                rows = pool.recv()
            print(rows.terminated.tolist(), pool.metric_names)
        """)
    )
    done = run(str(script), cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["(2, 1)", "[True, True] ('success',)"]


def test_a_registration_travels_in_no_file():
    gym.register("tests/Sent-v0", toys.Toy)
    from parcade.env.by_id import with_registration
    from parcade.env.spec import EnvSpec

    spec = with_registration(EnvSpec(env_id="tests/Sent"))
    assert spec.registered
    assert "registered" not in spec.to_dict()
    with pytest.raises(SettingsError, match="unknown keys: registered"):
        EnvSpec.from_dict({**spec.to_dict(), "registered": "x"})
    assert with_registration(EnvSpec(env_id="CartPole-v1")).registered is None


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("more", [{}, {"lstm": 8}])
def test_a_loaded_policy_plays_the_episodes_of_the_evaluation(tmp_path, deterministic, more):
    made = parcade.train(env_id="CartPole-v1", log_root=str(tmp_path), n_workers=0, total_timesteps=64, **SMALL, **more)
    expected = parcade.evaluate(made.model, episodes=2, n_workers=0, deterministic=deterministic).episodes
    policy = parcade.load_policy(made.model)
    env = policy.make_env()
    for episode in expected:
        policy.reset(episode.seed)
        observation, _ = env.reset(seed=episode.seed)
        length, over = 0, False
        while not over:
            observation, _, terminated, truncated, _ = env.step(policy.act(observation, deterministic=deterministic))
            length, over = length + 1, terminated or truncated
        assert length == episode.length
    assert expected[0].seed == first_seed(0)
    with pytest.raises(SettingsError, match=r"the observation has .*\(3,\).*, but the policy of .* observes .*\(4,\)"):
        policy.act(np.zeros(3))
    with pytest.raises(ModelFileError):
        parcade.load_policy(tmp_path / "nothing.zip")


def test_a_loaded_policy_takes_observations_in_parts(tmp_path):
    made = parcade.train(env=toys.DictObs, log_root=str(tmp_path), n_workers=0, total_timesteps=64, **SMALL)
    policy = parcade.load_policy(made.model)
    env = policy.make_env(toys.DictObs)
    observation, _ = env.reset(seed=1)
    assert env.action_space.contains(policy.act(observation))
    assert policy.action_space == env.action_space


def test_progress_is_printed_and_changes_no_number(tmp_path, capsys):
    given = {"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 32, "total_timesteps": 128, "final_eval_episodes": 2}
    given |= {"n_workers": 0, "video": False}
    heard = []
    shown = parcade.train(**given, log_root=str(tmp_path / "a"), progress=True, on_event=heard.append)
    told = capsys.readouterr()
    for words in ("starting 2 games of CartPole-v1", "2 games in this process, 128 steps", "step ", "mean return"):
        assert words in told.err
    assert told.out == ""
    assert heard
    silent = parcade.train(**given, log_root=str(tmp_path / "b"))
    assert capsys.readouterr().err == ""
    assert silent.evaluation["return_mean"] == shown.evaluation["return_mean"]
    parcade.resume(shown.run_dir, total_timesteps=192, progress=True)
    assert "from step 128" in capsys.readouterr().err


def test_a_window_that_cannot_open_is_told_before_anything_starts(tmp_path, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="no window can be opened here"):
        parcade.train(total_timesteps=64, log_root=str(tmp_path), visual=True)
    assert list(tmp_path.iterdir()) == []


class _SlowToBegin(toys.Toy):
    """Longer than the trainer listens to a worker before it looks up."""

    def reset(self, *, seed=None, options=None):
        time.sleep(0.5)
        return super().reset(seed=seed, options=options)


def test_nothing_is_told_of_a_rollout_before_the_training_has_started(tmp_path):
    told = []
    settings = SMALL | {
        "n_steps": 8,
        "batch_size": 16,
        "n_envs": 2,
        "n_workers": 1,
        "total_timesteps": 32,
        "final_eval_episodes": 0,
        "log_root": str(tmp_path),
    }
    parcade.train(env=_SlowToBegin, on_event=told.append, **settings)
    kinds = [type(event) for event in told]
    assert events.Playing not in kinds[: kinds.index(events.Started)]
    assert events.Playing in kinds
