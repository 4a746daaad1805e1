"""Atari's usual preprocessing: frames as ale-py plays them, starts and chance by the seed, lives."""

from __future__ import annotations

import logging
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError
from parcade.train.given import settings_for

ale_py = pytest.importorskip("ale_py", reason="Atari needs the extra `atari`")
BREAKOUT = EnvSpec(env_id="ALE/Breakout-v5", grayscale=True, sticky_actions=0.0)


def bare(**arguments: Any) -> gym.Env[Any, Any]:
    gym.register_envs(ale_py)
    arguments = {"obs_type": "grayscale", "repeat_action_probability": 0.0, **arguments}
    return gym.make("ALE/Breakout-v5", disable_env_checker=True, **arguments)


def actions(count: int) -> list[int]:
    return np.random.default_rng(1).integers(4, size=count).tolist()


def played(env: gym.Env[Any, Any], seed: int, chosen: list[int]) -> list[tuple[Any, ...]]:
    first, _ = env.reset(seed=seed)
    told: list[tuple[Any, ...]] = [(first.tobytes(),)]
    for action in chosen:
        seen, reward, terminated, truncated, _ = env.step(action)
        told.append((seen.tobytes(), reward, terminated, truncated))
        if terminated or truncated:
            break
    return told


def test_a_game_is_what_ale_py_plays_from_start_to_end() -> None:
    ours, theirs = make(BREAKOUT), bare()
    for seed in (1, 2):  # the second one begins from the kept start
        mine, wanted = played(ours, seed, actions(600)), played(theirs, seed, actions(600))
        assert mine == wanted
        assert mine[-1][2] is True
    ours.close()
    theirs.close()


def test_the_brighter_pixels_of_the_last_two_frames_are_seen() -> None:
    ours, theirs = make(BREAKOUT.with_(max_over_frames=True)), bare(frameskip=1)
    ours.reset(seed=1)
    theirs.reset(seed=1)
    differ = 0
    for action in actions(60):
        seen = ours.step(action)[0][0]
        frames = [theirs.step(action)[0] for _ in range(4)]
        assert np.array_equal(seen, np.maximum(*frames[-2:]))
        differ += not np.array_equal(seen, frames[-1])
    assert differ


def test_the_first_picture_is_the_starts_also_after_another_game() -> None:
    env = make(BREAKOUT.with_(render=True))
    first = env.reset(seed=1)[0], env.render()
    for action in actions(40):
        env.step(action)
    assert not np.array_equal(env.render(), first[1])
    again = env.reset(seed=1)[0], env.render()
    assert np.array_equal(again[0], first[0])
    assert np.array_equal(again[1], first[1])


def frames_of(env: gym.Env[Any, Any], seed: int) -> int:
    return int(env.reset(seed=seed)[1]["episode_frame_number"])


def test_no_op_starts_and_fire_take_frames_by_the_seed() -> None:
    env = make(BREAKOUT.with_(noop_max=5))
    begun = [frames_of(env, seed) for seed in range(40)]
    assert set(begun) == {1, 2, 3, 4, 5}
    assert begun == [frames_of(env, seed) for seed in range(40)]
    fired = make(BREAKOUT.with_(noop_max=5, fire_on_reset=True))
    assert [frames_of(fired, seed) for seed in range(40)] == [frames + 4 for frames in begun]


def lengths(spec: EnvSpec, steps: int) -> list[int]:
    """Return the lives after each step of an episode in which nobody moves."""
    env = make(spec)
    env.reset(seed=3)
    left = []
    for _ in range(steps):
        _, _, terminated, _, info = env.step(0)
        left.append(info["lives"])
        if terminated:
            break
    env.close()
    return left


def test_fire_is_pressed_after_each_lost_life() -> None:
    assert lengths(BREAKOUT, 400) == [5] * 400  # the ball never comes
    assert lengths(BREAKOUT.with_(fire_on_reset=True), 400)[-1] == 0


def test_a_lost_life_ends_an_episode_in_training_only() -> None:
    trained = BREAKOUT.with_(fire_on_reset=True, terminal_on_life_loss=True, noop_max=3)
    left = lengths(trained, 400)
    assert (left[-2:], len(left) < 100) == ([5, 4], True)
    judged = evaluated_as(trained)
    assert (judged.terminal_on_life_loss, judged.noop_max, judged.fire_on_reset) == (False, 3, True)
    assert lengths(judged, 400)[-1] == 0


def test_stickiness_is_the_envs_own_unless_given() -> None:
    chosen = actions(80)
    sticky = make(EnvSpec(env_id="ALE/Breakout-v5", grayscale=True, fire_on_reset=True))  # 0.25
    plain = make(BREAKOUT.with_(fire_on_reset=True))
    assert played(sticky, 1, chosen) == played(sticky, 1, chosen) != played(plain, 1, chosen)
    assert played(sticky, 1, chosen) != played(sticky, 2, chosen)
    assert played(plain, 1, chosen) == played(plain, 2, chosen)


class Echo(gym.Env[Any, Any]):
    """Shows what it was told in each step."""

    observation_space = spaces.Box(-1, 1000, (1,), np.float64)
    action_space = spaces.Discrete(1000)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.array([-1.0]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.array([float(action)]), 0.0, False, False, {}


def test_a_sticky_action_is_the_one_before_in_a_share_of_the_steps() -> None:
    env = PreprocessedEnv(Echo(), Preprocessing(sticky_actions=0.25))
    env.reset(seed=1)
    taken = [int(env.step(step)[0][0]) for step in range(1000)]
    stuck = [step for step in range(1, 1000) if taken[step] != step]
    assert all(taken[step] == taken[step - 1] for step in stuck)
    assert taken[0] == 0
    assert 200 < len(stuck) < 300


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (EnvSpec(env_id="CartPole-v1", noop_max=3), r"noop_max is for Atari games \(ALE/…\) seen as pictures"),
        (EnvSpec(env_id="ALE/Pong-v5", env_kwargs={"obs_type": "ram"}, fire_on_reset=True), "fire_on_reset is for"),
        (EnvSpec(env_id="CartPole-v1", frame_skip=2, max_over_frames=True), "max_over_frames need a uint8 picture"),
        (BREAKOUT.with_(max_over_frames=True, env_kwargs={"frameskip": 1}), "give frame_skip 2 or more"),
    ],
)
def test_what_an_env_cannot_follow_is_refused(spec: EnvSpec, words: str) -> None:
    with pytest.raises(EnvError, match=words):
        make(spec)


def test_a_chance_above_one_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"sticky_actions is 1.5, wanted 1 or less"):
        EnvSpec(env_id="CartPole-v1", sticky_actions=1.5)


@pytest.mark.parametrize(
    ("given", "frames"),
    [({"frame_skip": 4}, 16), ({}, None), ({"frame_skip": 4, "env_kwargs": {"frameskip": 1}}, None)],
)
def test_skips_that_multiply_are_told(given: dict[str, Any], frames: int | None, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "parcade"):
        settings = settings_for({"env_id": "ALE/Pong-v5", **given})
    told = [record.getMessage() for record in caplog.records if "multiplies" in record.getMessage()]
    assert len(told) == (frames is not None)
    if frames is not None:
        assert "frame_skip 4 multiplies with the env's own frameskip 4, so a step takes 16 frames" in told[0]
    env: Any = make(EnvSpec(env_id="ALE/Pong-v5", frame_skip=settings.frame_skip, env_kwargs=settings.env_kwargs))
    assert env.frames_per_step == (frames or 4)
    env.close()
