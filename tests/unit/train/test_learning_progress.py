"""An update that takes long says how far it is, in lines and events."""

from types import SimpleNamespace

import pytest

from parcade import train
from parcade.train import events, learning_progress
from parcade.train.plain_progress import PlainProgress

SETTINGS = {
    **{"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 32, "batch_size": 16, "n_epochs": 2, "total_timesteps": 64},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "n_workers": 0},
}


def test_every_minibatch_is_heard_of(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_progress, "EVERY_S", 0.0)
    monkeypatch.setattr(learning_progress, "PATIENCE_S", 0.0)
    told = []
    train(**SETTINGS, log_root=str(tmp_path), on_event=told.append)
    found = [event for event in told if isinstance(event, events.Learning) and event.share]
    assert [event.share for event in found] == [pytest.approx(n / 8) for n in range(1, 9)]
    assert {(event.env_steps, event.rollout) for event in found} == {(64, 64)}


def test_the_share_counts_whole_games_where_the_policy_has_a_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_progress, "EVERY_S", 0.0)
    monkeypatch.setattr(learning_progress, "PATIENCE_S", 0.0)
    told = []
    train(**SETTINGS, lstm=4, log_root=str(tmp_path), on_event=told.append)
    shares = [event.share for event in told if isinstance(event, events.Learning) and event.share]
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_a_short_update_is_not_told(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_progress, "PATIENCE_S", 600.0)
    told = []
    train(**{**SETTINGS, "total_timesteps": 128}, log_root=str(tmp_path), on_event=told.append)
    assert not [event for event in told if isinstance(event, events.Learning)]


def test_a_line_says_it_after_a_while_of_silence(monkeypatch):
    lines, now_s = [], [100.0]
    monkeypatch.setattr("parcade.train.plain_progress.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    listen = PlainProgress(lines.append)
    listen(events.EvaluationStarted(1))
    listen(events.Learning(4096, 4096, 0.25))
    now_s[0] += 6
    listen(events.Learning(4096, 4096, 0.5))
    assert lines[1:] == ["step 4,096, learning from a rollout of 4,096: 50%"]
