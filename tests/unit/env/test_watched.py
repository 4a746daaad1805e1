"""An env that is watched plays the same, and lays down what it shows."""

import struct

import gymnasium as gym
import numpy as np
import pytest

from parcade import EnvSpec
from parcade.env.make import make
from parcade.env.picture_file import CLOSED, PictureReader, PictureWriter, Shown
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import Watch
from parcade.env.watched import WatchedEnv
from parcade.view.tiles import BORDER, policys_view


def reader_of(folder, name="game-00000.picture"):
    return PictureReader(folder / name)


def play(spec, steps, look=None):
    env = as_slot_env(make(spec))
    rows = fresh_rows(env.observation_space)
    told = []
    env.begin(7, rows)
    for step in range(steps):
        told.append((env.advance(step * 5 % 6, rows), {name: row.copy() for name, row in rows.items()}))
        if look is not None:
            look(env, rows)
    env.close()
    return told


@pytest.mark.parametrize("observation", ["features", "pixels", "both"])
def test_the_file_holds_the_picture_and_what_the_policy_sees(tmp_path, observation):
    watch = Watch(str(tmp_path), every=1)

    def look(env, rows):
        shown = reader_of(tmp_path).read()
        assert (shown.raw == env.render()).all()
        assert set(shown.seen) == set(rows)
        assert all((shown.seen[name] == row).all() for name, row in rows.items())
        steps.append(shown.step)

    steps = []
    play(EnvSpec(game="lantern", observation=observation, frames_stack=2, watch=watch), 5, look)
    assert steps == [1, 2, 3, 4, 5]


def test_a_colour_stack_is_shown_in_its_colours(tmp_path):
    watch = Watch(str(tmp_path), every=1)
    seen = []
    spec = EnvSpec(
        game="lantern", observation="pixels", frames_stack=2, grayscale=False, picture_size="full", watch=watch
    )
    play(spec, 3, lambda env, rows: seen.append((policys_view(reader_of(tmp_path).read()), env.render())))
    (_, before), (picture, now) = seen[-2:]
    width = before.shape[1]
    assert np.array_equal(picture[:, :width], before)
    assert np.array_equal(picture[:, width + BORDER :], now)


@pytest.mark.parametrize("raw", [True, False])
def test_numbers_do_not_depend_on_who_watches(tmp_path, raw):
    spec = EnvSpec(game="lantern", observation="both")
    alone = play(spec, 60)
    watched = play(spec.with_(watch=Watch(str(tmp_path), every=1, raw=raw)), 60)
    for (numbers, rows), (other_numbers, other_rows) in zip(alone, watched, strict=True):
        assert numbers == other_numbers
        assert all((rows[name] == other_rows[name]).all() for name in rows)


def test_only_every_nth_step_is_drawn(tmp_path):
    steps = []
    watch = Watch(str(tmp_path), every=4)
    reader = []

    def look(env, rows):
        reader.append(reader[0] if reader else reader_of(tmp_path))
        shown = reader[0].read()
        if shown is not None:
            steps.append(shown.step)

    play(EnvSpec(game="lantern", watch=watch), 12, look)
    assert steps == [0, 3, 7, 11]  # the start, then every fourth picture there could be


def test_a_closed_window_ends_the_pictures_and_not_the_play(tmp_path):
    env = make(EnvSpec(game="lantern", watch=Watch(str(tmp_path), every=1)))
    rows = fresh_rows(env.observation_space)
    env.begin(1, rows)
    reader = reader_of(tmp_path)
    assert reader.read() is not None
    (tmp_path / CLOSED).touch()
    env.advance(1, rows)
    assert reader.read() is None
    env.close()
    env.close()


class Blind(gym.Env):
    """An env that has no picture to show."""

    observation_space = gym.spaces.Box(0, 1, (2,))
    action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), 1.0, False, False, {}

    def render(self):
        raise gym.error.DependencyNotInstalled("paint is not installed")


def test_an_env_that_cannot_draw_plays_on_and_says_why(tmp_path):
    env = WatchedEnv(Blind(), Watch(str(tmp_path), every=1))
    rows = fresh_rows(env.observation_space)
    env.begin(1, rows)
    assert env.advance(0, rows) == (1.0, False, False)
    shown = reader_of(tmp_path).read()
    assert shown.raw is None
    assert "paint is not installed" in shown.why_not
    assert shown.seen["obs"].tolist() == [1.0, 1.0]
    env.close()


def nothing(label=""):
    return Shown(label, 0, 0.0, None, "", {"obs": np.zeros(1)}, 1)


def test_the_file_of_a_slot_is_gone_on_with(tmp_path):
    writer = PictureWriter(str(tmp_path), "game", 2)
    writer.write(nothing())
    reader = reader_of(tmp_path, "game-00002.picture")
    assert reader.read().label == "game 2"
    path = tmp_path / "game-00002.picture"
    path.write_bytes(struct.pack("<Q", 3) + path.read_bytes()[8:])  # it died in the midst of its second picture
    successor = PictureWriter(str(tmp_path), "game", 2)
    assert reader.read() is None
    successor.write(nothing())
    assert reader.read().label == "game 2"
    assert [entry.name for entry in tmp_path.iterdir()] == ["game-00002.picture"]
    for writing in (writer, successor):
        writing.close()


def test_a_half_written_picture_is_not_read(tmp_path):
    writer = PictureWriter(str(tmp_path), "game", 0)
    writer.write(nothing())
    path = tmp_path / "game-00000.picture"
    whole = path.read_bytes()
    path.write_bytes(struct.pack("<Q", 3) + whole[8:])
    reader = PictureReader(path)
    assert reader.read() is None
    path.write_bytes(struct.pack("<Q", 4) + whole[8:])
    assert reader.read() is not None
    writer.close()


def test_who_watches_is_no_part_of_a_saved_env(tmp_path):
    spec = EnvSpec(env_id="CartPole-v1", crop=None, watch=Watch(str(tmp_path)))
    assert EnvSpec.from_dict(spec.to_dict()) == spec.with_(watch=None)
