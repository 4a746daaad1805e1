"""The envs keep Gymnasium's contract and ours."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from parcade import EnvSpec, make_env, register_envs
from parcade.console.gameboy import GameBoy
from parcade.console.rom import builtin_rom
from parcade.env.console_env import ConsoleEnv
from parcade.env.make import make
from parcade.errors import EnvError, RomError, SaveStateError, SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED, Action
from parcade.game.lantern.title import Lantern, dungeon_seed

OBSERVATIONS = ("features", "pixels", "both")


def play(env, seed, steps=120, reset_first=True):
    rng = np.random.default_rng(seed)
    rows = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(int(rng.integers(6)))
        rows += [observation, reward, terminated, truncated]
        if terminated or truncated:
            break
    return rows


def same(a, b):
    if isinstance(a, dict):
        return all(np.array_equal(a[key], b[key]) for key in a)
    return np.array_equal(a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_gymnasiums_checker_passes(observation):
    env = make_env("lantern", observation=observation, render=True)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_an_episode_is_a_pure_function_of_its_seed(observation):
    fresh, used = make_env("lantern", observation=observation), make_env("lantern", observation=observation)
    for other in (11, 12):
        play(used, other)
    for seed in (3, 4):
        first, second = play(fresh, seed), play(used, seed)
        assert len(first) == len(second)
        assert all(same(a, b) for a, b in zip(first, second, strict=True))
    fresh.close()
    used.close()


def test_shapes():
    env = make_env("lantern", observation="both", frames_stack=3)
    observation, info = env.reset(seed=1)
    assert observation["pixels"].shape == (3, 72, 80)
    assert observation["pixels"].dtype == np.uint8
    assert observation["features"].shape == (len(env.game.feature_names),)
    assert set(info["metrics"]) == set(env.metric_names)
    env.close()


def test_stacked_pictures_are_the_last_ones_in_order():
    stacked, single = (
        make_env("lantern", observation="pixels", frames_stack=3),
        make_env("lantern", observation="pixels"),
    )
    stacked.reset(seed=2)
    single.reset(seed=2)
    pictures = []
    for action in (4, 4, 2, 2, 5):
        pictures.append(single.step(action)[0][0])
        observation = stacked.step(action)[0]
    assert np.array_equal(observation, np.stack(pictures[-3:]))
    stacked.close()
    single.close()


@pytest.mark.parametrize("game", ["lantern", "meadow"])
@pytest.mark.parametrize(("grayscale", "channels"), [(None, 1), (True, 1), (False, 3)])
@pytest.mark.parametrize("picture_size", [None, "half", "full"])
def test_a_game_shows_grey_or_colour_in_half_or_full_size(game, grayscale, channels, picture_size):
    if game == "meadow":
        pytest.importorskip("mgba", reason="mGBA cannot be loaded", exc_type=ImportError)
    env = make_env(game, observation="pixels", frames_stack=2, grayscale=grayscale, picture_size=picture_size)
    height, width, _ = env.console.screen_shape
    size = (height, width) if picture_size == "full" else (height // 2, width // 2)
    assert env.picture_channels == channels
    assert env.observation_space.shape == (2 * channels, *size)
    env.reset(seed=3)
    newest = []
    for action in (1, 2, 0):
        observation = env.step(action)[0]
        frame = np.empty((3, *size) if channels == 3 else size, np.uint8)
        (env.console.colour if channels == 3 else env.console.luminance)(frame)
        newest.append(frame.reshape(channels, *size))
    assert np.array_equal(observation, np.concatenate(newest[-2:]))
    env.close()


def test_colours_of_meadow_with_the_same_red_are_told_apart():
    pytest.importorskip("mgba", reason="mGBA cannot be loaded", exc_type=ImportError)
    env = make_env("meadow", observation="pixels", picture_size="full")
    observation, _ = env.reset(seed=1)
    screen = env.console.screen()[..., :3]
    floor, wood = [222, 173, 107], [222, 206, 173]
    levels = [np.unique(observation[0][(screen == colour).all(-1)]).tolist() for colour in (floor, wood)]
    assert levels == [[180], [207]]
    env.close()


@pytest.mark.parametrize("option", [{"grayscale": False}, {"grayscale": True}, {"picture_size": "full"}])
def test_pictures_are_refused_where_none_is_seen(option):
    (name,) = option
    with pytest.raises(SettingsError, match=f"{name} is given, but lantern is observed as features"):
        make_env("lantern", **option)
    make_env("lantern", observation="both", **option).close()


def test_a_spec_written_before_games_had_colour_stays_grey():
    written = EnvSpec(game="lantern", observation="pixels").to_dict()
    del written["picture_size"]
    for grayscale in (False, True):
        assert EnvSpec.from_dict({**written, "grayscale": grayscale}) == EnvSpec(game="lantern", observation="pixels")
    now = EnvSpec(game="lantern", observation="pixels", grayscale=False, picture_size="full")
    assert EnvSpec.from_dict(now.to_dict()) == now
    assert EnvSpec.from_dict({"env_id": "CarRacing-v3", "grayscale": False}).grayscale is False


def test_truncation_at_max_steps_is_not_termination():
    env = make_env("lantern", max_steps=5)
    env.reset(seed=1)
    results = [env.step(0)[2:4] for _ in range(5)]
    assert results == [(False, False)] * 4 + [(False, True)]
    env.close()


def test_reward_is_the_sum_of_its_named_parts():
    env = make_env("lantern")
    env.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(200):
        _, reward, ended, cut, info = env.step(int(rng.integers(6)))
        assert reward == pytest.approx(sum(info["reward_parts"].values()))
        if ended or cut:
            env.reset()
    env.close()


def test_reward_weights_are_settings():
    env = make_env("lantern", reward_weights={"step": -1.0, "approach": 0.0})
    env.reset(seed=5)
    assert env.step(0)[1] == pytest.approx(-1.0)
    env.close()
    with pytest.raises(SettingsError, match="did you mean 'approach'"):
        make_env("lantern", reward_weights={"aproach": 1.0})


def test_held_out_seeds_are_other_dungeons():
    trained = {dungeon_seed(seed) for seed in range(20_000)}
    held_out = {dungeon_seed(FIRST_HELD_OUT_SEED + index) for index in range(1024)}
    assert len(held_out) == 1024
    assert not trained & held_out


def test_gymnasium_make_knows_our_ids():
    register_envs()
    register_envs()
    env = gym.make("parcade/Lantern-v0", observation="pixels")
    assert env.reset(seed=1)[0].shape == (1, 72, 80)
    env.close()


def test_render_shows_the_present():
    env = make_env("lantern", render=True)
    env.reset(seed=1)
    first = env.render()
    for _ in range(5):
        env.step(4)
    assert first.shape == (144, 160, 3)
    assert not np.array_equal(first, env.render())
    env.close()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"game": "lantren"}, SettingsError, "did you mean 'lantern'"),
        ({"env_id": "CartPole-v9"}, EnvError, "CartPole-v9"),
        ({"env_id": "NoSuchThing-v0"}, EnvError, "not registered"),
        ({"game": "pokemon-red"}, RomError, "needs your own ROM"),
        ({"game": "lantern", "rom": "missing.gb"}, RomError, "no ROM at missing.gb"),
        ({"game": "lantern", "state": "missing.state"}, SaveStateError, "no save state"),
        ({"game": "lantern", "game_options": {"floor": 1}}, SettingsError, "did you mean 'floors'"),
        ({"game": "lantern", "observation": "smell"}, SettingsError, "features, pixels, both"),
        ({"env_id": "CartPole-v1", "grayscale": True}, EnvError, "picture"),
        (
            {"env_id": "CartPole-v1", "picture_size": "full"},
            SettingsError,
            "for games, not for the Gymnasium env CartPole-v1",
        ),
        ({"game": "lantern", "picture_size": "huge"}, SettingsError, "wanted one of half, full"),
        ({"game": "lantern", "resize": (84, 84)}, SettingsError, "picture_size half or full"),
        ({}, SettingsError, "one of game"),
    ],
)
def test_bad_input_is_one_sentence(options, error, text):
    with pytest.raises(error, match=text) as caught:
        make(EnvSpec(**options))
    assert "\n" not in str(caught.value)


class Picture(gym.Env):
    """A picture whose level counts the steps."""

    observation_space = gym.spaces.Box(0, 255, (8, 6, 3), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.full((8, 6, 3), 0, np.uint8), {}

    def step(self, action):
        self.count += 1
        return np.full((8, 6, 3), self.count, np.uint8), 2.0, self.count >= 7, False, {}


def test_preprocessing_skips_greys_resizes_stacks_and_clips():
    env = make_env(Picture, frame_skip=2, frames_stack=2, grayscale=True, resize=(4, 3), reward_clip=3.0)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (2, 4, 3)
    observation, reward, *_ = env.step(0)
    assert observation[:, 0, 0].tolist() == [0, 2]
    assert reward == 3.0
    observation, _, terminated, _, _ = env.step(0)
    assert observation[:, 0, 0].tolist() == [2, 4]
    assert not terminated
    env.step(0)
    observation, reward, terminated, _, _ = env.step(0)
    assert observation[:, 0, 0].tolist() == [6, 7]
    assert terminated
    assert reward == 2.0


def test_a_tapped_button_is_a_new_press_every_step_and_a_held_one_is_not():
    def modes(tap):
        class Pausing(Lantern):
            actions = (Action("start", ("start",), tap=tap),)

        env = ConsoleEnv(GameBoy(builtin_rom("lantern.gb")), Pausing())
        env.reset(seed=1)
        found = []
        for _ in range(4):
            env.step(0)
            found.append(env._state.mode)
        env.close()
        return found

    assert modes(tap=True) == [6, 2, 6, 2]  # paused, playing, paused, playing
    assert modes(tap=False) == [6, 6, 6, 6]
