"""Preprocessing of Gymnasium envs: what is cut, shrunk, stacked and clipped, and in which order."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade import EnvSpec, make_env
from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.preprocessing_record import Preprocessing
from parcade.errors import MissingExtraError, SettingsError


class Paper(gym.Env):
    """A picture whose pixel (y, x) has the value 10 y + x, brighter by one with every step."""

    action_space = spaces.Discrete(2)

    def __init__(self, shape=(6, 8, 3)):
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return self._draw(), {}

    def step(self, action):
        self._steps += 1
        return self._draw(), 3.0, False, False, {}

    def _draw(self):
        shape = self.observation_space.shape
        first = len(shape) == 3 and shape[0] == 3
        height, width = shape[1:] if first else shape[:2]
        picture = (10 * np.arange(height)[:, None] + np.arange(width) + self._steps).astype(np.uint8)
        if len(shape) == 2:
            return picture
        return np.repeat(picture[None], 3, 0) if first else np.repeat(picture[..., None], shape[2], 2)


def test_crop_cuts_top_right_bottom_and_left():
    env = PreprocessedEnv(Paper(), Preprocessing(crop=(1, 2, 3, 0), grayscale=True))
    observation, _ = env.reset(seed=0)
    assert observation.shape == env.observation_space.shape == (1, 2, 6)
    assert observation[0].tolist() == [[10 * y + x for x in range(6)] for y in (1, 2)]


def test_crop_comes_before_resize():
    env = PreprocessedEnv(Paper(), Preprocessing(crop=(0, 4, 2, 0), resize=(2, 2), grayscale=True))
    observation, _ = env.reset(seed=0)
    whole = np.array([[10 * y + x for x in range(4)] for y in range(4)], float)
    wanted = whole.reshape(2, 2, 2, 2).mean(axis=(1, 3))
    assert np.abs(observation[0] - wanted).max() <= 1


@pytest.mark.parametrize("crop", [(3, 0, 3, 0), (0, 4, 0, 4), (6, 0, 0, 0), (0, 0, 0, 9)])
def test_a_crop_that_leaves_nothing_is_refused_with_the_size(crop):
    with pytest.raises(SettingsError, match="leaves nothing of a picture 6 high and 8 wide"):
        PreprocessedEnv(Paper(), Preprocessing(crop=crop))


@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 1), (6, 8, 3), (6, 8, 4), (3, 6, 8)])
@pytest.mark.parametrize("grayscale", [True, False])
def test_every_layout_of_channels_comes_out_channels_first(shape, grayscale):
    env = PreprocessedEnv(Paper(shape), Preprocessing(grayscale=grayscale, frames_stack=2))
    env.reset(seed=0)
    observation = env.step(0)[0]
    channels = env.picture_channels
    assert channels == (1 if grayscale or len(shape) == 2 else (3 if shape[0] == 3 else shape[2]))
    assert observation.shape == env.observation_space.shape == (2 * channels, 6, 8)
    assert observation[0, 2, 3] == 23
    assert observation[-1, 2, 3] == (24 if channels < 4 else observation[-1, 2, 3])


def test_rewards_are_summed_over_the_skip_and_then_clipped():
    env = PreprocessedEnv(Paper(), Preprocessing(frame_skip=4))
    env.reset(seed=0)
    assert env.step(0)[1] == 12.0
    env = PreprocessedEnv(Paper(), Preprocessing(frame_skip=4, reward_clip=5.0))
    env.reset(seed=0)
    assert env.step(0)[1] == 5.0


def test_the_picture_of_an_untouched_env_has_its_channels_first():
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    env = make(EnvSpec(env_id="parcade/CarRacing-v3"))
    assert env.observation_space.shape == (3, 96, 96)
    env.close()


def test_fast_and_official_racing_show_the_same_crop():
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    pictures = []
    for env_id in ("parcade/CarRacing-v3", "CarRacing-v3"):
        env = make(EnvSpec(env_id=env_id, crop=(0, 6, 12, 6), resize=(42, 42), grayscale=True, frame_skip=2))
        pictures.append(env.reset(seed=5)[0])
        env.close()
    assert pictures[0].shape == pictures[1].shape == (1, 42, 42)
    assert np.abs(pictures[0].astype(int) - pictures[1]).mean() < 3


@pytest.mark.parametrize("name", ["crop", "resize", "reward_clip"])
def test_a_game_refuses_what_it_does_not_do(name):
    value = {"crop": (1, 1, 1, 1), "resize": (84, 84), "reward_clip": 1.0}[name]
    with pytest.raises(SettingsError, match=f"{name} is for Gymnasium envs, not for the game lantern"):
        make_env("lantern", **{name: value})


def test_atari_is_registered_by_itself():
    pytest.importorskip("ale_py", reason="Atari needs the extra `atari`")
    env = make(EnvSpec(env_id="ALE/Pong-v5", grayscale=True, resize=(84, 84), crop=(34, 0, 16, 0), frames_stack=4))
    assert env.reset(seed=1)[0].shape == (4, 84, 84)
    env.close()


@pytest.mark.parametrize(
    ("module", "env_id", "extra"),
    [
        ("ale_py", "ALE/Pong-v5", "parcade\\[atari\\]"),
        ("Box2D", "LunarLander-v3", "parcade\\[racing\\]"),
        ("Box2D", "parcade/CarRacing-v3", "parcade\\[racing\\]"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module, env_id, extra):
    """In a process of its own, in which the package cannot be found."""
    import subprocess
    import sys

    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from parcade.env.make import make; from parcade import EnvSpec\n"
        f"make(EnvSpec(env_id={env_id!r}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = answer.stderr.strip().splitlines()[-1]
    assert last.startswith(f"parcade.errors.{MissingExtraError.__name__}: {env_id} needs"), last
    assert extra.replace("\\", "") in last
