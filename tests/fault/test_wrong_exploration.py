"""Checkpoints that are whole and hold other starts, counts or bonuses than the run explores with: one sentence."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from parcade import resume, train
from parcade.errors import ModelFileError
from parcade.run.archive import read_archive, write_archive
from parcade.run.checkpoint import list_checkpoints

SETTINGS = {
    **{"game": "lantern", "n_envs": 2, "n_steps": 32, "total_timesteps": 128, "save_freq": 64, "n_workers": 0},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "max_steps": 20, "batch_size": 32},
}
KINDS = {
    "archive": {"archive_share": 0.5, "novelty": 0.1, "novelty_kind": "both"},
    "rnd": {"novelty": 0.1, "novelty_kind": "rnd"},
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory):
    """Train once with each; every test gets a copy."""
    root = tmp_path_factory.mktemp("trained")
    return request.param, Path(train(**SETTINGS, **KINDS[request.param], log_root=str(root)).run_dir)


def renamed(name):
    return lambda arrays: arrays.update({f"{name}x": arrays.pop(name)})


def to(name, change):
    return lambda arrays: arrays.update({name: change(arrays[name])})


WRONG = {
    "archive": {
        "another leaf": renamed("explore:archive/taken:obs"),
        "actions that nobody has": to("explore:archive/taken:obs", lambda array: array + 99),
        "actions of halves": to("explore:archive/taken:obs", lambda array: array.astype(np.float64)),
        "starts of another kind": to("explore:archive/taken:obs", lambda array: array.astype(np.int32)),
        "steps of halves": to("explore:archive/steps", lambda array: array.astype(np.float64)),
        "never reached": to("explore:archive/numbers", np.zeros_like),
        "counts below nothing": to("explore:archive/numbers", lambda array: array - 1000),
        "cells of halves": to("explore:archive/cells", lambda array: array.astype(np.float64)),
        "seeds below nothing": to("explore:archive/seeds", lambda array: array - 2**40),
        "rollouts below nothing": to("explore:starts/rollouts", lambda array: array - 1000),
        "unknown slots": to("explore:starts/keys", lambda array: array + 1000),
        "novelty of halves": to("explore:novelty/counts", lambda array: array / 2),
        "novelty below nothing": to("explore:novelty/counts", lambda array: array - 1000),
    },
    "rnd": {
        "a network of NaN": to("explore:novelty/weights:0.weight", lambda array: array * np.nan),
        "moments of others": to("explore:novelty/moments:0:exp_avg", lambda array: array[:1]),
        "no moments": lambda arrays: arrays.pop("explore:novelty/moments:0:exp_avg_sq"),
        "a spread of NaN": to("explore:novelty/spread", lambda array: array * np.nan),
    },
}


def test_what_a_training_explores_with_is_checked(trained, tmp_path):
    kind, run = trained
    for name, change in WRONG[kind].items():
        copy = Path(shutil.copytree(run, tmp_path / name.replace(" ", "_")))
        newest = list_checkpoints(copy / "checkpoints")[-1]
        meta, groups = read_archive(newest, "checkpoint")
        change(groups["pool"])
        write_archive(newest, "checkpoint", meta, groups)
        with pytest.raises(ModelFileError, match="does not belong to this run"):
            resume(copy, total_timesteps=192)


def test_one_that_is_right_goes_on(trained, tmp_path):
    assert resume(shutil.copytree(trained[1], tmp_path / "run"), total_timesteps=192).env_steps == 192
