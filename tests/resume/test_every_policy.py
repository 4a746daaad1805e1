"""Whatever the policy and wherever it acts: any number of workers gives the same numbers, and so does a resume."""

import json
from pathlib import Path

import pytest

from parcade import resume, train
from parcade.errors import SettingsError
from parcade.run.archive import read_archive
from parcade.train.recording import record

LANTERN = {"game": "lantern", "n_envs": 5, "n_steps": 8, "max_steps": 11}
PENDULUM = {"env_id": "Pendulum-v1", "n_envs": 5, "n_steps": 8}
GUIDE = {"milestones": [{"name": "east", "when": "increased(x)"}, {"name": "south", "when": "increased(y)"}]}
CASES = {
    "pictures": {**LANTERN, "observation": "pixels"},
    "both": {**LANTERN, "observation": "both"},
    "memory": {**LANTERN, "lstm": 12},
    "overlap": {**LANTERN, "overlap": True},
    "overlap with memory and pictures": {**LANTERN, "overlap": True, "lstm": 12, "observation": "pixels"},
    "archive and novelty": {
        **LANTERN,
        **{"archive_share": 0.6, "novelty": 0.5, "novelty_kind": "both"},
        **{"n_steps": 24, "max_steps": 40, "frame_skip": 24, "total_timesteps": 720, "save_freq": 120},
    },
    "cells of pictures, overlap": {
        **{**LANTERN, "overlap": True, "observation": "pixels", "cell_kind": "picture"},
        **{"archive_share": 0.9, "archive_strategy": "frontier", "archive_size": 3, "novelty": 0.1},
    },
    "starts by milestones, visited places": {
        **{**LANTERN, "visited": True, "guide": GUIDE, "archive_share": 0.8, "archive_strategy": "milestone"},
        **{"n_steps": 24, "max_steps": 40, "frame_skip": 24, "total_timesteps": 720, "save_freq": 120},
    },
    "pictures, visited places and shifts": {**LANTERN, "observation": "pixels", "visited": True, "shift_pixels": 2},
    "learned novelty": {**LANTERN, "novelty": 0.1, "novelty_kind": "rnd"},
    "guide beside pictures": {**LANTERN, "observation": "pixels", "guide": GUIDE},
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


SLOW = (  # what each of them adds is also in a quicker case, or in fault/test_starts
    *("starts by milestones, visited places", "pictures, visited places and shifts", "both"),
    *("overlap with memory and pictures", "cells of pictures, overlap", "guide beside pictures"),
)


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.long if case in SLOW else ()) for case in CASES])
def test_workers_and_breaks_change_no_number(case, tmp_path):
    check_numbers({**COMMON, **CASES[case]}, tmp_path, "spawn" if case == "memory" else "auto")


@pytest.mark.long
def test_demonstrations_change_nothing_of_that(tmp_path):
    settings = {**COMMON, **LANTERN, "frame_skip": 24, "max_steps": 40}
    model = train(**settings, n_workers=0, log_root=str(tmp_path / "expert")).model
    file = tmp_path / "demos.zip"
    record(model, file, episodes=2, n_workers=0)
    shown = {"demonstrations": str(file), "clone_updates": 2, "backward_share": 0.7, "max_steps": 60}
    check_numbers({**settings, **shown, "n_steps": 24, "total_timesteps": 720, "save_freq": 120}, tmp_path, "auto")
    losses = [set(row["losses"]) for row in numbers(next((tmp_path / "whole" / "r").iterdir()))]
    assert ["clone_loss" in found for found in losses] == [True, True, False, False, False, False]
    with pytest.raises(SettingsError, match=r"all 2 episodes of .* reach max_steps 40"):
        train(**{**settings, **shown, "max_steps": 40}, n_workers=0, log_root=str(tmp_path / "short"))


def check_numbers(settings, tmp_path, method):
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    steps = settings["total_timesteps"]
    half = train(**{**settings, "total_timesteps": steps // 2}, n_workers=2, log_root=str(tmp_path / "half"))
    assert numbers(half.run_dir) == numbers(whole.run_dir)[:3]
    resumed = resume(half.run_dir, total_timesteps=steps, n_workers=3, parallel_start_method=method)
    assert numbers(resumed.run_dir) == numbers(whole.run_dir)
    assert weights(resumed) == weights(whole)
