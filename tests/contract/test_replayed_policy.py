"""A replay shows what a saved policy thinks of each moment, whichever way one goes there."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from parcade import train
from parcade.env.replay import open_replay
from parcade.learn.single_actor import SingleActor
from parcade.run.kept_episodes import read_index
from parcade.train.policy_file import load_policy
from parcade.view.page.asked_policy import FAILED, OPENING, READY
from parcade.view.page.choices import distribution
from parcade.view.page.replaying import ReplaySession, kept_episode

DEADLINE_S = 120


@pytest.fixture(scope="module", params=[0, 8], ids=["without memory", "lstm"])
def run(request, tmp_path_factory):
    usual = {"n_envs": 2, "n_steps": 64, "n_workers": 0, "total_timesteps": 512, "eval_freq": 0, "max_steps": 200}
    folder = str(tmp_path_factory.mktemp("results"))
    result = train(game="lantern", **usual, lstm=request.param, final_eval_episodes=0, video=False, log_root=folder)
    return Path(result.run_dir)


@pytest.fixture
def session(run):
    number = read_index(run / "episodes").kinds["newest"][0]
    opened = ReplaySession(run, number)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while opened.policy.state == OPENING and time.monotonic() < deadline:
            time.sleep(0.02)
        assert opened.policy.state == READY, opened.policy.about
        yield opened
    finally:
        opened.close()


def by_itself(run, number, about):
    """Return what the policy makes of every step, asked here, one observation after the other."""
    actor = SingleActor(load_policy(run / about["name"])[0])
    record, where = kept_episode(run, number)
    found = []
    with open_replay(record, where, render=False) as replay:
        while not replay.is_over:
            actor(replay.rows)
            params, taken = actor._params[0].astype(np.float64), int(record.actions["obs"][replay.position])
            found.append(distribution(about, params, [taken]))
            replay.step()
    return found


def test_every_moment_has_its_thoughts(run, session):
    wanted = by_itself(run, session.number, session.policy.about)
    length = len(wanted)
    assert length == session.length > 150
    session.look_again()
    first = session.moment()
    assert first["choice"] == {**wanted[0], "taken": []}  # nothing is taken yet
    values = {}
    for position in (1, 3, 70, length, 5, 4, 140, length):  # on, back, and in leaps
        session.go_to(position)
        moment = session.moment()
        assert moment["choice"]["taken"] == wanted[position - 1]["taken"]
        np.testing.assert_allclose(moment["choice"]["chances"], wanted[position - 1]["chances"], atol=2e-4)
        assert len(moment["values"]) == len(moment["strip"])
        assert moment["values"][-1] == moment["value"]
        assert values.setdefault(position, moment["value"]) == pytest.approx(moment["value"], abs=1e-4)
    assert len(set(values.values())) > 3


def test_another_policy_can_be_asked_and_a_dead_one_is_told(run, session):
    names = [one["name"] for one in session.policy.about["policies"]]
    assert "models/best_model.zip" in names
    other = next(name for name in names if name != session.policy.about["name"])
    session.policy.choose(other)
    deadline = time.monotonic() + DEADLINE_S
    while session.policy.state == OPENING and time.monotonic() < deadline:
        time.sleep(0.02)
    assert session.policy.about["name"] == other
    session.policy._process.send_signal(signal.SIGKILL)
    session.go_to(10)
    assert session.policy.state == FAILED
    assert "killed by SIGKILL" in session.policy.about["words"]
    session.go_to(12)  # the replay goes on without
    assert session.moment()["choice"] is None
    assert session.moment()["position"] == 12
