"""Whatever the policy and wherever it acts: any number of workers gives the same numbers, and so does a resume."""

import json
from pathlib import Path

import pytest

from parcade import resume, train
from parcade.run.archive import read_archive

LANTERN = {"game": "lantern", "n_envs": 5, "n_steps": 8, "max_steps": 11}
PENDULUM = {"env_id": "Pendulum-v1", "n_envs": 5, "n_steps": 8}
CASES = {
    "pictures": {**LANTERN, "observation": "pixels"},
    "both": {**LANTERN, "observation": "both"},
    "memory": {**LANTERN, "lstm": 12},
    "overlap": {**LANTERN, "overlap": True},
    "overlap with memory and pictures": {**LANTERN, "overlap": True, "lstm": 12, "observation": "pixels"},
    "gaussian": {**PENDULUM, "normalize_obs": True, "normalize_return": True},
    "beta": {**PENDULUM, "box_policy": "beta"},
}
COMMON = {
    **{"seed": 3, "total_timesteps": 240, "lr_schedule": "constant", "save_freq": 40, "num_threads": 1},
    **{"eval_freq": 0, "final_eval_episodes": 0, "video": False, "run_name": "r"},
}


def numbers(run):
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def weights(result):
    return {name: array.tobytes() for name, array in read_archive(Path(result.model), "model")[1]["weights"].items()}


@pytest.mark.parametrize("case", CASES)
def test_workers_and_breaks_change_no_number(case, tmp_path):
    settings = {**COMMON, **CASES[case]}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    half = train(**{**settings, "total_timesteps": 120}, n_workers=2, log_root=str(tmp_path / "half"))
    assert numbers(half.run_dir) == numbers(whole.run_dir)[:3]
    method = "spawn" if case == "memory" else "auto"
    resumed = resume(half.run_dir, total_timesteps=240, n_workers=3, parallel_start_method=method)
    assert numbers(resumed.run_dir) == numbers(whole.run_dir)
    assert weights(resumed) == weights(whole)
