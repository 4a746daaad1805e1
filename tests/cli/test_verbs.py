"""The verbs do what they say, as a user would call them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from session_processes import workers_of

from parcade.cli.main import VERBS, main

QUICK = ["--n-envs", "4", "--n-steps", "32", "--final-eval-episodes", "2", "--max-steps", "40", "--no-video"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def last_json(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    command = [sys.executable, "-m", "parcade.cli.main", "train", "--timesteps", "512", "--json", *QUICK]
    command.remove("--no-video")
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    return folder, json.loads(answer.stdout.splitlines()[-1]), answer.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches(verb, capsys):
    with pytest.raises(SystemExit) as leave:
        main([verb, "--help"])
    assert leave.value.code == 0
    text = capsys.readouterr().out
    assert f"parcade {verb}" in text
    assert "--json" in text


def test_train_ends_with_the_promised_json(trained):
    _, result, _ = trained
    promised = {"run_dir", "env_steps", "episodes", "seconds", "steps_per_s", "episodes_per_s"}
    assert promised | {"return_mean", "success_rate"} <= set(result)
    assert result["env_steps"] == 512
    assert result["episodes"] == 12


def test_train_shows_progress_and_a_summary(trained):
    _, _, shown = trained
    for word in ("steps/s", "episode", "return", "success", "mean return", "report.html"):
        assert word in shown


def test_the_run_folder_is_complete(trained):
    folder, result, _ = trained
    run = folder / result["run_dir"]
    assert re.fullmatch(r"results/lantern/\d{8}-\d{6}", result["run_dir"])
    for name in ("config.json", "manifest.json", "metrics.jsonl", "summary.json", "report.html", "logs/train.log"):
        assert (run / name).stat().st_size > 0, name
    for name in ("models/best_model.zip", "models/final_model.zip", "videos/final.mp4"):
        assert (run / name).stat().st_size > 1000, name
    assert sorted(p.name for p in (run / "monitor").iterdir()) == [f"env_{i}.csv" for i in range(4)]
    assert list((run / "logs").glob("events.out.tfevents.*"))
    assert list((run / "checkpoints").glob("step_*.ckpt"))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows if "final" not in row] == [1, 2, 3, 4]
    assert rows[-1]["final"] is True
    assert rows[-1]["eval"]["mean_reward"] == result["evaluation"]["return_mean"]
    running = {"return_mean", "length_mean", "milestone_second_room", "milestone_key", "milestone_door", "success"}
    assert all(set(row["running"]) == running for row in rows[:-1])
    assert "mean return" in (run / "logs/train.log").read_text()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["packages"]["torch"]
    assert len(manifest["rom_sha1"]) == 40


def test_tensorboard_holds_a_curve_per_slot(trained):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, result, _ = trained
    board = EventAccumulator(str(folder / result["run_dir"] / "logs"))
    board.Reload()
    tags = set(board.Tags()["scalars"])
    wanted = {"rollout/ep_rew_mean", "rollout/ep_len_mean", "train/policy_loss", "time/steps_per_s", "game/coins"}
    wanted |= {"eval/mean_reward", "rollout/running_return_mean"}
    assert wanted | {f"rollout/ep_rew_mean_env_{i}" for i in range(4)} <= tags


def test_eval_of_a_model(trained, capsys):
    folder, result, _ = trained
    model = str(folder / result["model"])
    assert main(["eval", "--model", model, "--episodes", "3", "--json", "--list"]) == 0
    first = last_json(capsys)
    assert {"return_mean", "return_std", "length_mean", "success_rate", "episodes"} <= set(first)
    assert first["episodes"] == len(first["episode_list"]) == 3
    assert set(first["episode_list"][0]) == {"seed", "return", "length", "metrics"}
    assert main(["eval", "--model", model, "--episodes", "3", "--json", "--list"]) == 0
    assert last_json(capsys)["episode_list"] == first["episode_list"]


def test_eval_of_a_checkpoint_and_of_a_model_kept_with_it(capsys):
    assert main(["train", "--timesteps", "256", "--save-freq", "128", "--keep-models", "--json", *QUICK]) == 0
    run = Path(last_json(capsys)["run_dir"])
    played = []
    for name in ("models/model_000000000128.zip", "checkpoints/step_000000000128.ckpt", "models/final_model.zip"):
        assert main(["eval", "--model", str(run / name), "--episodes", "2", "--json", "--list"]) == 0
        played.append(last_json(capsys)["episode_list"])
    assert played[0] == played[1] != played[2]


def test_eval_of_a_model_in_a_game_with_other_options(trained, capsys):
    folder, result, _ = trained
    model = str(folder / result["model"])
    assert main(["eval", "--model", model, "--episodes", "1", "--reward-weights", "step=-1000", "--json"]) == 0
    assert last_json(capsys)["return_mean"] < -1000
    assert main(["eval", "--model", model, "--episodes", "1", "--game-options", "flors=2"]) == 2
    assert "flors" in capsys.readouterr().err


def test_eval_writes_a_video(trained, capsys):
    folder, result, _ = trained
    assert main(["eval", "--model", str(folder / result["model"]), "--episodes", "1", "--video", "out.mp4"]) == 0
    assert Path("out.mp4").stat().st_size > 1000
    out, err = capsys.readouterr()
    assert "success" in out
    assert "filming the first episodes, a minute of play at most" in err


def test_eval_of_chance(capsys):
    assert main(["eval", "--random", "--episodes", "2", "--max-steps", "30", "--json"]) == 0
    assert last_json(capsys)["length_mean"] == 30


def test_a_config_trains_and_its_own_config_repeats_it(capsys):
    Path("mine.yaml").write_text(
        "game: lantern\nseed: 7\nn_envs: 2\nn_steps: 16\ntotal_timesteps: 64\nmax_steps: 20\n"
        "final_eval_episodes: 0\nrun_name: mine\nlog_root: here\nsave_freq: 0\neval_freq: 0\n"
    )
    assert main(["train", "--config", "mine.yaml", "--json", "--n-epochs", "2"]) == 0
    first = Path(last_json(capsys)["run_dir"])
    assert first.parts[:2] == ("here", "mine")
    config = json.loads((first / "config.json").read_text())
    assert (config["seed"], config["n_epochs"]) == (7, 2)
    assert main(["train", "--config", str(first / "config.json"), "--json"]) == 0
    second = Path(last_json(capsys)["run_dir"])
    assert without_times(first) == without_times(second)


def without_times(run):
    rows = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        del row["time"]
    return rows


def test_same_seed_same_metrics_whatever_the_workers(capsys):
    runs = []
    for workers in ("0", "2", "3"):
        assert main(["train", "--timesteps", "512", "--json", "--seed", "3", "--n-workers", workers, *QUICK]) == 0
        runs.append(without_times(last_json(capsys)["run_dir"]))
    assert runs[0] == runs[1] == runs[2]
    assert main(["train", "--timesteps", "512", "--json", "--seed", "4", *QUICK]) == 0
    assert without_times(last_json(capsys)["run_dir"]) != runs[0]


def test_any_gymnasium_env(capsys):
    flags = ["--n-envs", "2", "--n-steps", "16", "--final-eval-episodes", "1", "--eval-freq", "64"]
    assert main(["train", "--env-id", "CartPole-v1", "--timesteps", "128", "--json", *flags]) == 0
    result = last_json(capsys)
    assert result["success_rate"] is None
    rows = without_times(result["run_dir"])
    assert {"mean_reward", "std_reward", "mean_length", "std_length"} <= set(rows[1]["eval"])


def test_a_gymnasium_run_is_filmed(capsys):
    pytest.importorskip("pygame", reason="CartPole draws with pygame (extra view)")
    flags = ["--n-envs", "2", "--n-steps", "16", "--final-eval-episodes", "4", "--eval-freq", "0"]
    assert main(["train", "--env-id", "CartPole-v1", "--timesteps", "64", "--json", *flags]) == 0
    result = last_json(capsys)
    assert (Path(result["run_dir"]) / "videos/final.mp4").stat().st_size > 1000
    assert result["evaluation"]["episodes"] == 4


def test_an_env_that_cannot_draw_says_so(capsys, tmp_path):
    (tmp_path / "blind.py").write_text(
        "import gymnasium as gym\n"
        "class Blind(gym.Env):\n"
        "    metadata = {'render_modes': ['rgb_array']}\n"
        "    observation_space = gym.spaces.Box(0, 1, (2,))\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    def __init__(self, render_mode=None):\n"
        "        self.render_mode = render_mode\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        super().reset(seed=seed)\n"
        "        return self.observation_space.low, {}\n"
        "    def step(self, action):\n"
        "        return self.observation_space.low, 1.0, self.np_random.random() < 0.2, False, {}\n"
        "    def render(self):\n"
        "        raise gym.error.DependencyNotInstalled('paint is not installed')\n"
        "gym.register('Blind-v0', entry_point='blind:Blind')\n"
    )
    parcade = str(Path(sys.executable).with_name("parcade"))
    command = [parcade, "train", "--import", "blind", "--env-id", "Blind-v0"]
    flags = ["--timesteps", "64", "--n-envs", "2", "--n-steps", "16", "--final-eval-episodes", "2", "--json"]
    answer = subprocess.run([*command, *flags], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert "no video: Blind-v0 cannot be filmed: DependencyNotInstalled: paint is not installed" in answer.stderr
    assert json.loads(answer.stdout.splitlines()[-1])["evaluation"]["episodes"] == 2


def test_an_env_without_pictures_is_evaluated_without_a_video(tmp_path):
    (tmp_path / "dark.py").write_text(
        "import gymnasium as gym\n"
        "class Dark(gym.Env):\n"
        "    observation_space = gym.spaces.Box(0, 1, (2,))\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        super().reset(seed=seed)\n"
        "        return self.observation_space.low, {}\n"
        "    def step(self, action):\n"
        "        return self.observation_space.low, 1.0, self.np_random.random() < 0.2, False, {}\n"
    )
    words = ["eval", "--random", "--env-id", "dark:Dark", "--episodes", "2", "--n-workers", "1", "--video"]
    command = [sys.executable, "-m", "parcade.cli.main", *words]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    why = "parcade: no video: dark:Dark cannot be filmed: it has no render mode rgb_array"
    assert answer.stderr.splitlines()[1:] == [why]  # after the word that it films
    assert "2 episodes of dark:Dark" in answer.stdout


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--algorithm", "cloning"], "algorithm cloning needs demonstrations"),
        (["--algorithm", "cloning", "--demonstrations", "none.zip"], "there is no recording at none.zip"),
        (["--model", "none.zip"], "there is no model at none.zip"),
    ],
)
def test_a_file_to_learn_from_is_looked_at_before_any_game_starts(flags, words, capsys):
    assert main(["train", *flags, *QUICK]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "starting" not in told
    assert not list(Path("results").glob("*"))


def test_num_episodes_ends_a_run(capsys):
    assert main(["train", "--timesteps", "1M", "--num-episodes", "5", "--json", *QUICK]) == 0
    assert 5 <= last_json(capsys)["episodes"] <= 12


def test_games_and_doctor(capsys):
    assert main(["games", "--json"]) == 0
    games = {game["name"]: game for game in last_json(capsys)["games"]}
    assert games["lantern"]["built_in"]
    assert not games["pokemon-red"]["built_in"]
    assert games["meadow"]["fields"]["map"]["values"]["route1"] == 5
    assert games["lantern"]["milestones"][1]["metric"] == "milestone_key"
    assert main(["games"]) == 0
    assert "links-awakening" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    found = {finding["what"]: finding["state"] for finding in last_json(capsys)["findings"]}
    assert found["lantern"] == found["meadow"] == found["torch"] == "ok"
    assert {"cores", "memory", "open files", "racing"} <= set(found)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "timeout"])
def test_a_stopped_group_leaves_a_checkpoint_a_summary_and_nothing_else(tmp_path, stop):
    command = [sys.executable, "-m", "parcade.cli.main", "train", "--timesteps", "50M", "--n-envs", "4", "--json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        metrics = []
        while not metrics or not metrics[0].stat().st_size:
            assert time.monotonic() < deadline
            assert process.poll() is None
            metrics = list(tmp_path.glob("results/lantern/*/metrics.jsonl"))
            time.sleep(0.1)
        os.killpg(process.pid, stop)
        out, shown = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + stop, shown
    result = json.loads(out.splitlines()[-1])
    assert result["interrupted"] is True
    assert result["worker_restarts"] == 0
    run = tmp_path / result["run_dir"]
    assert list((run / "checkpoints").glob("step_*.ckpt"))
    assert (run / "summary.json").exists()
    assert "parcade resume" in shown
    assert not list(Path("/dev/shm").glob(f"parcade-{process.pid}-*"))
    deadline = time.monotonic() + 10
    while workers_of(process.pid):  # the fork server notices the end and follows
        assert time.monotonic() < deadline, workers_of(process.pid)
        time.sleep(0.05)
