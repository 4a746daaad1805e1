"""Demonstrations as starts: those that reach the episode's limit are told of and left out."""

import numpy as np
import pytest

from parcade.config.settings import make_settings
from parcade.env.slot import WHOLE
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.train.exploring import _demonstrated
from parcade.train.recording import record_bot


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    path = tmp_path_factory.mktemp("demos") / "demos.zip"
    records = record_bot(lambda env: lambda seen: int(seen[2] > 0), EnvSpec(env_id="CartPole-v1"), path, episodes=8)
    return path, sorted(record.length for record in records)


def demonstrated(path, max_steps):
    settings = make_settings({"env_id": "CartPole-v1", "demonstrations": str(path), "max_steps": max_steps})
    starts = _demonstrated(settings, EnvSpec(env_id="CartPole-v1", max_steps=max_steps), {WHOLE: np.zeros(1, int)})
    assert all(start.actions[WHOLE].dtype == int for start in starts)  # as a pool has them, not as a file keeps them
    return starts


def test_all_are_starts_where_there_is_no_limit(demos, caplog):
    path, lengths = demos
    assert sorted(start.n_steps for start in demonstrated(path, None)) == lengths
    assert caplog.text == ""


def test_those_that_reach_the_limit_are_left_out_and_told(demos, caplog):
    path, lengths = demos
    limit = lengths[-1]
    assert lengths[0] < limit
    wanted = [length for length in lengths if length < limit]
    assert sorted(start.n_steps for start in demonstrated(path, limit)) == wanted
    assert f"{8 - len(wanted)} of 8 episodes of {path} reach max_steps {limit}" in caplog.text


def test_it_is_refused_only_where_none_is_left(demos):
    with pytest.raises(SettingsError, match=r"all 8 episodes of .* reach max_steps 2: .* backward_share 0"):
        demonstrated(demos[0], 2)
