"""Stopped and resumed is the same as never stopped, bit for bit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcade import resume, train
from parcade.errors import ModelFileError, SettingsError
from parcade.run.archive import read_archive

SETTINGS = {
    "game": "lantern",
    "seed": 5,
    "n_envs": 6,
    "n_steps": 16,
    "max_steps": 25,
    "total_timesteps": 960,
    "save_freq": 96,
    "eval_freq": 480,
    "n_eval_episodes": 1,
    "final_eval_episodes": 2,
    "video": False,
    "run_name": "r",
}


def rows(run):
    found = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    for row in found:
        del row["time"]
    return found


def weights(run):
    return {
        name: array.tobytes()
        for name, array in read_archive(Path(run) / "models/final_model.zip", "model")[1]["weights"].items()
    }


def monitors(run):
    return {path.name: path.read_text() for path in (Path(run) / "monitor").iterdir()}


def kept_episodes(run):
    return {path.name: path.read_bytes() for path in (Path(run) / "episodes").iterdir()}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    result = train(**SETTINGS, log_root=str(tmp_path_factory.mktemp("unbroken")))
    return result


def same_as(unbroken, result):
    assert rows(result.run_dir) == rows(unbroken.run_dir)
    assert weights(result.run_dir) == weights(unbroken.run_dir)
    assert monitors(result.run_dir) == monitors(unbroken.run_dir)
    assert len(kept_episodes(result.run_dir)) > 16
    assert kept_episodes(result.run_dir) == kept_episodes(unbroken.run_dir)
    kept = {key: value for key, value in result.evaluation.items() if key != "seconds"}
    assert kept == {key: value for key, value in unbroken.evaluation.items() if key != "seconds"}


def start_and_kill(folder, after_updates, workers, settings=SETTINGS):
    """Start a run in a process of its own, SIGKILL it after some updates; return its folder."""
    settings = {**settings, "log_root": str(folder), "n_workers": workers}
    code = f"from parcade import train; train(**{settings!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 90
    try:
        while True:
            assert time.monotonic() < deadline, "the run did not get that far"
            metrics = list(Path(folder).glob("r/*/metrics.jsonl"))
            if metrics and len(metrics[0].read_text().splitlines()) >= after_updates:
                break
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
    return metrics[0].parent


@pytest.mark.parametrize(("after", "first_workers", "then_workers"), [(2, 2, 0), (5, 1, 3)])
def test_killed_and_resumed_is_the_same_as_unbroken(tmp_path, unbroken, after, first_workers, then_workers):
    run = start_and_kill(tmp_path, after, first_workers)
    same_as(unbroken, resume(run, n_workers=then_workers))


@pytest.mark.long
def test_killed_several_times(tmp_path, unbroken):
    run = start_and_kill(tmp_path, 2, 2)
    for after in (4, 6):
        code = f"from parcade import resume; resume({str(run)!r})"
        process = subprocess.Popen([sys.executable, "-c", code])
        deadline = time.monotonic() + 90
        while len((run / "metrics.jsonl").read_text().splitlines()) < after:
            assert time.monotonic() < deadline
            if process.poll() is not None:
                break
            time.sleep(0.01)
        process.kill()
        process.wait()
    same_as(unbroken, resume(run))


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(tmp_path, unbroken, caplog):
    run = start_and_kill(tmp_path, 5, 2)
    newest = sorted((run / "checkpoints").glob("*.ckpt"))[-1]
    damaged = bytearray(newest.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    newest.write_bytes(damaged)
    result = resume(run)
    assert any(newest.name in record.message for record in caplog.records)
    same_as(unbroken, result)


def test_training_can_go_on_longer(tmp_path):
    short = train(**{**SETTINGS, "total_timesteps": 192, "lr_schedule": "constant"}, log_root=str(tmp_path))
    longer = resume(short.run_dir, total_timesteps=384)
    whole = train(**{**SETTINGS, "total_timesteps": 384, "lr_schedule": "constant"}, log_root=str(tmp_path / "whole"))
    assert rows(longer.run_dir) == rows(whole.run_dir)
    assert weights(longer.run_dir) == weights(whole.run_dir)


def test_what_cannot_be_resumed(tmp_path):
    with pytest.raises(SettingsError, match="not a run folder"):
        resume(tmp_path)
    result = train(**{**SETTINGS, "total_timesteps": 96, "save_freq": 96}, log_root=str(tmp_path))
    for path in (Path(result.run_dir) / "checkpoints").iterdir():
        path.write_bytes(b"torn")
    with pytest.raises(ModelFileError, match="none of its 1 checkpoints"):
        resume(result.run_dir, total_timesteps=192)


def test_starting_from_a_models_weights(tmp_path, unbroken):
    result = train(
        **{**SETTINGS, "total_timesteps": 96, "learning_rate": 1e-12}, log_root=str(tmp_path), model=unbroken.model
    )
    old, new = (read_archive(model, "model")[1]["weights"] for model in (unbroken.model, result.model))
    assert all(abs(old[name] - new[name]).max() < 1e-6 for name in old)


def test_a_run_from_before_games_had_colour_goes_on_in_grey(tmp_path):
    short = {**SETTINGS, "observation": "pixels", "total_timesteps": 96, "eval_freq": 0, "final_eval_episodes": 0}
    run = train(**short, log_root=str(tmp_path)).run_dir
    config = Path(run) / "config.json"
    written = json.loads(config.read_text())
    assert written.pop("picture_size") is None
    config.write_text(json.dumps({**written, "grayscale": False}))
    assert resume(run, total_timesteps=192).env_steps == 192


def test_a_run_in_colour_is_evaluated_in_colour(tmp_path):
    from parcade import evaluate

    short = {**SETTINGS, "total_timesteps": 96, "eval_freq": 0, "final_eval_episodes": 0}
    colour = {"observation": "pixels", "grayscale": False, "frames_stack": 2}
    result = train(**short, **colour, log_root=str(tmp_path))
    kernels = [array.shape for array in read_archive(Path(result.model), "model")[1]["weights"].values()]
    assert any(shape[1] == 6 for shape in kernels if len(shape) == 4)  # two frames of three planes
    assert len(evaluate(result.model, episodes=1).episodes) == 1
