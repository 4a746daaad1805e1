"""A watched env keeps the pace the window asks for; no number depends on it."""

import threading
import time
from pathlib import Path

import pytest

from parcade import EnvSpec
from parcade.env.make import make
from parcade.env.pace import Pacer, Wish, read_wish, step_seconds, write_wish
from parcade.env.picture_file import CLOSED, PictureReader
from parcade.env.slot import fresh_rows
from parcade.env.spec import Watch
from parcade.env.watched import action_words

DEADLINE_S = 30.0


def test_a_wish_is_read_as_it_was_written(tmp_path):
    assert read_wish(tmp_path) is None
    write_wish(tmp_path, Wish(4.0, True, 3))
    assert read_wish(tmp_path) == Wish(4.0, True, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["control.json"]


def test_steps_take_their_time(tmp_path):
    pacer = Pacer(str(tmp_path), 2.0, step_s=0.1)
    started = time.monotonic()
    assert [pacer.wait() for _ in range(4)] == [True] * 4
    assert time.monotonic() - started >= 4 * 0.05 - 0.001


def test_as_fast_as_it_goes_waits_for_nothing(tmp_path):
    pacer = Pacer(str(tmp_path), 0.0, step_s=1e6)
    assert not pacer.wait()


def test_a_paused_env_waits_until_it_is_let_go(tmp_path):
    write_wish(tmp_path, Wish(1.0, paused=True))
    pacer, steps = Pacer(str(tmp_path), 1.0, step_s=0.0), []
    player = threading.Thread(target=lambda: [steps.append(pacer.wait()) for _ in range(4)])
    player.start()
    try:
        for asked in (1, 2):
            write_wish(tmp_path, Wish(1.0, True, single_steps=asked))
            deadline = time.monotonic() + DEADLINE_S
            while len(steps) < asked:
                assert time.monotonic() < deadline
                time.sleep(0.005)
        player.join(0.1)
        assert len(steps) == 2  # it stands still again
    finally:
        (tmp_path / CLOSED).touch()  # a closed window holds nobody up
        player.join(DEADLINE_S)
    assert len(steps) == 4


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        (EnvSpec(game="lantern"), 6 / 60),
        (EnvSpec(game="lantern", frame_skip=3), 3 / 60),
        (EnvSpec(env_id="CartPole-v1"), 1 / 50),
        (EnvSpec(env_id="CartPole-v1", frame_skip=4), 4 / 50),
    ],
)
def test_a_step_lasts_as_long_as_in_the_game(spec, seconds):
    env = make(spec)
    assert step_seconds(env, spec.frame_skip) == pytest.approx(seconds)
    env.close()


def test_the_action_is_told_in_words(tmp_path):
    env = make(EnvSpec(game="lantern", watch=Watch(str(tmp_path), speed=0.0, every=1)))
    rows = fresh_rows(env.observation_space)
    env.begin(1, rows)
    reader = PictureReader(Path(tmp_path, "game-00000.picture"))
    assert reader.read().action == ""
    for action, words in ((5, "sword (a)"), (4, "right"), (0, "wait")):
        env.advance(action, rows)
        assert reader.read().action == words
    env.close()
    other = make(EnvSpec(env_id="CartPole-v1"))
    assert action_words(other, 1) == "1"
    assert action_words(other, [0.123, -1.0]) == "0.12 -1"
    other.close()
