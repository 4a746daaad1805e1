"""More games than files may be open: 1,100 of them train, and go on, with 256 descriptors."""

import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

N_ENVS, FILES = 1_100, 256
SETTINGS = [
    "--env-id",
    "CartPole-v1",
    "--n-envs",
    str(N_ENVS),
    "--n-steps",
    "8",
    "--n-workers",
    "2",
    "--batch-size",
    "1100",
]
SETTINGS += ["--n-epochs", "1", "--save-freq", str(N_ENVS * 8), "--eval-freq", "0", "--final-eval-episodes", "0"]
SETTINGS += [
    "--max-steps",
    "12",
    "--no-video",
    "--lr-schedule",
    "constant",
]  # every game ends an episode in two rollouts


def parcade(folder, *words):
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (FILES, FILES))
    command = [sys.executable, "-m", "parcade.cli.main", *words, "--json"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, preexec_fn=limit)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def monitors(result, folder):
    files = sorted(Path(folder, result["run_dir"], "monitor").iterdir())
    return {file.name: len(file.read_text().splitlines()) for file in files}


@pytest.mark.long
def test_1100_games_train_and_go_on_with_few_open_files(tmp_path):
    steps = N_ENVS * 8
    whole = parcade(tmp_path, "train", *SETTINGS, "--timesteps", str(4 * steps), "--run-name", "whole")
    assert whole["env_steps"] == 4 * steps
    assert whole["episodes"] >= N_ENVS
    part = parcade(tmp_path, "train", *SETTINGS, "--timesteps", str(2 * steps), "--run-name", "part")
    more = parcade(tmp_path, "resume", part["run_dir"], "--timesteps", str(4 * steps))
    assert more["episodes"] == whole["episodes"]
    assert monitors(more, tmp_path) == monitors(whole, tmp_path)
    assert len(monitors(whole, tmp_path)) == N_ENVS
