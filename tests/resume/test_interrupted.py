"""Ctrl-C in the middle of a rollout ends the training soon, and the resumed run has the numbers of an unbroken one."""

import os
import signal
import time
from pathlib import Path

import pytest
from test_resume import rows, weights

from parcade import resume, train
from parcade.train import learning_progress
from parcade.train.events import EpisodeEvaluated, Evaluated, Learning, Playing, Stopping

SETTINGS = {
    **{"game": "lantern", "seed": 5, "n_envs": 4, "n_steps": 2000, "total_timesteps": 16000, "run_name": "r"},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "n_epochs": 1},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An unbroken run."""
    return train(**SETTINGS, log_root=str(tmp_path_factory.mktemp("whole")))


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_rollout_that_is_given_up_is_played_again(tmp_path, n_workers, whole):
    stopped_s = []

    def stop_in_the_second(event):
        if isinstance(event, Playing) and event.env_steps > 8000 and not stopped_s:
            stopped_s.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    log_root = str(tmp_path / "stopped")
    stopped = train(**SETTINGS, log_root=log_root, n_workers=n_workers, on_event=stop_in_the_second)
    assert stopped_s
    assert time.monotonic() - stopped_s[0] < 3  # a rollout takes about as long, but nobody waits for its end
    assert (stopped.interrupted, stopped.env_steps) == (True, 8000)
    resumed = resume(stopped.run_dir, n_workers=n_workers)
    assert not resumed.interrupted
    assert rows(resumed.run_dir) == rows(whole.run_dir)
    assert weights(resumed.run_dir) == weights(whole.run_dir)


LONG_UPDATES = {
    **{"game": "lantern", "seed": 5, "n_envs": 4, "n_steps": 64, "total_timesteps": 768, "run_name": "r"},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "n_epochs": 6, "batch_size": 16, "max_steps": 50},
}
WAYS = {
    "plain": {},
    "overlap": {"overlap": True},
    "shards": {"shards": 2},
    "lstm": {"lstm": 8},
    "novelty": {"novelty": 0.5, "archive_share": 0.5},
    "pixels": {"observation": "pixels", "n_epochs": 2, "batch_size": 64},
}


@pytest.mark.parametrize(("way", "share"), [("plain", 0.0), *((way, 0.5) for way in WAYS)])
def test_an_update_that_is_given_up_is_computed_again(tmp_path, monkeypatch, way, share):
    """Stopped in the second update; nothing of it is left, and its rollout is played again."""
    for name in ("GRACE_S", "PATIENCE_S", "EVERY_S"):
        monkeypatch.setattr(learning_progress, name, 0.0)
    settings, stopped_at = {**LONG_UPDATES, **WAYS[way], "n_workers": 0}, []

    def stop_in_the_second(event):
        if isinstance(event, Learning) and event.env_steps == 512 and event.share >= share and not stopped_at:
            stopped_at.append(event.share)
            os.kill(os.getpid(), signal.SIGINT)

    whole = train(**settings, log_root=str(tmp_path / "whole"))
    stopped = train(**settings, log_root=str(tmp_path / "stopped"), on_event=stop_in_the_second)
    assert stopped_at[0] < 1
    assert (stopped.interrupted, stopped.env_steps) == (True, 256)
    assert "256 steps of an unfinished rollout were dropped" in Path(stopped.run_dir, "logs/train.log").read_text()
    resumed = resume(stopped.run_dir)
    assert rows(resumed.run_dir) == rows(whole.run_dir)
    assert weights(resumed.run_dir) == weights(whole.run_dir)


def test_an_update_that_ends_soon_is_not_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_progress, "GRACE_S", 600.0)
    for name in ("PATIENCE_S", "EVERY_S"):
        monkeypatch.setattr(learning_progress, name, 0.0)

    told = []

    def stop(event):
        told.append(event)
        if isinstance(event, Learning) and not any(isinstance(event, Stopping) for event in told):
            os.kill(os.getpid(), signal.SIGINT)

    stopped = train(**{**LONG_UPDATES, "n_epochs": 2}, log_root=str(tmp_path), n_workers=0, on_event=stop)
    assert (stopped.interrupted, stopped.env_steps) == (True, 256)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_other_signals_stop_it_as_well_and_the_log_names_them(tmp_path, number):
    told = []

    def stop(event):
        told.append(event)
        if isinstance(event, Playing) and not any(isinstance(event, Stopping) for event in told):
            os.kill(os.getpid(), number)

    before = signal.signal(number, signal.SIG_DFL)  # whoever started the tests may ignore SIGHUP, as nohup does
    try:
        stopped = train(**SETTINGS, log_root=str(tmp_path), n_workers=0, on_event=stop)
    finally:
        signal.signal(number, before)
    assert stopped.interrupted
    assert [event.number for event in told if isinstance(event, Stopping)] == [number]
    assert f"stopping because of {number.name}" in Path(stopped.run_dir, "logs/train.log").read_text()
    assert list(Path(stopped.run_dir, "checkpoints").glob("step_*.ckpt"))


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    """`nohup parcade train` has SIGHUP ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        settings = {**SETTINGS, "total_timesteps": 8000}
        result = train(
            **settings, log_root=str(tmp_path), n_workers=0, on_event=lambda event: os.kill(os.getpid(), signal.SIGHUP)
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not result.interrupted


def test_ctrl_c_ends_the_final_evaluation_and_what_ended_counts(tmp_path):
    """Its episodes have no end of their own within the test's time."""
    settings = {**SETTINGS, "total_timesteps": 8000, "final_eval_episodes": 10_000, "max_steps": 50}
    stopped_s = []

    def stop(event):
        if isinstance(event, EpisodeEvaluated) and not stopped_s:
            stopped_s.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    result = train(**settings, log_root=str(tmp_path), n_workers=2, on_event=stop)
    assert time.monotonic() - stopped_s[0] < 3
    assert result.interrupted
    assert 1 <= result.evaluation["episodes"] < 10_000


def test_an_evaluation_has_a_limit_in_time(tmp_path):
    settings = {**SETTINGS, "total_timesteps": 8000, "final_eval_episodes": 100_000, "max_steps": 50}
    result = train(**settings, log_root=str(tmp_path), n_workers=0, eval_minutes=0.01)
    assert not result.interrupted
    assert 1 <= result.evaluation["episodes"] < 100_000
    assert result.evaluation["wanted_episodes"] == 100_000


def test_resume_can_change_evaluations(tmp_path):
    settings = {**SETTINGS, "n_envs": 2, "n_steps": 16, "total_timesteps": 64, "max_steps": 10, "n_workers": 0}
    run = train(**settings, log_root=str(tmp_path)).run_dir
    told = []
    resume(run, total_timesteps=128, eval_freq=32, n_eval_episodes=3, on_event=told.append)
    assert [len(event.result.episodes) for event in told if isinstance(event, Evaluated)] == [3]
