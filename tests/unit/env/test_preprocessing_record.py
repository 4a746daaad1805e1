"""The record of preprocessing: each of its fields is a setting, reaches the env, and is judged as its rule says."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.bench.racing import follow_track
from parcade.config.settings import TrainSettings
from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.preprocessing_record import Preprocessing, rules
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.train.given import env_spec, settings_for

RULES = rules(Preprocessing)
SETTINGS_PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


class Meter(gym.Env[Any, Any]):
    """A coloured picture of noise; it pays what it was pressed, less each step, for 12 frames."""

    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.Box(0, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._frames = 0
        return self._draw(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._frames += 1
        return self._draw(), float(action[0]) * (4 - self._frames), False, self._frames == 12, {}

    def _draw(self) -> Any:
        return self.np_random.integers(0, 256, (8, 8, 3), np.uint8)


PLAIN = EnvSpec(factory=cloudpickle.dumps(Meter))
METER = PLAIN.with_(frame_skip=1)  # wrapped, so that wrapping alone makes no difference
RACING = EnvSpec(env_id="parcade/CarRacing-v3", frame_skip=4)
LANTERN = EnvSpec(game="lantern", observation="pixels")
ATARI = EnvSpec(env_id="ALE/Breakout-v5", grayscale=True, resize=(84, 84), sticky_actions=0.0, fire_on_reset=True)
EXAMPLES: dict[str, tuple[EnvSpec, Any]] = {
    "frame_skip": (METER, 2),
    "frames_stack": (METER, 3),
    "grayscale": (METER, True),
    "picture_size": (LANTERN, "full"),
    "crop": (METER, (1, 0, 0, 2)),
    "resize": (METER, (4, 4)),
    "reward_clip": (METER, 0.5),
    "max_steps": (METER, 5),
    "action_scale": (METER, (0.5,)),
    "missed_tile_cost": (RACING, 0.5),
    "patience": (METER, 2),
    "noop_max": (ATARI, 30),
    "fire_on_reset": (ATARI.with_(fire_on_reset=False), True),
    "terminal_on_life_loss": (ATARI, True),
    "max_over_frames": (METER.with_(frame_skip=2), True),
    "sticky_actions": (METER, 0.5),
}
NEEDS = {"missed_tile_cost": ("Box2D", "racing"), **dict.fromkeys(("noop_max", "fire_on_reset"), ("ale_py", "atari"))}
NEEDS["terminal_on_life_loss"] = NEEDS["noop_max"]


def played(spec: EnvSpec) -> list[tuple[Any, ...]]:
    """Return what a policy is told in the first steps of an episode."""
    env = make(spec)
    first, _ = env.reset(seed=3)
    env.action_space.seed(0)
    car: Any = env.unwrapped
    told: list[tuple[Any, ...]] = [(first.shape, first.tobytes())]
    for _ in range(150):
        careless = spec.env_id == RACING.env_id
        action = follow_track(car, speed=60.0, look_ahead=10) if careless else env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        told.append((observation.shape, observation.tobytes(), reward, terminated, truncated))
        if terminated or truncated:
            break
    env.close()
    return told


def test_there_is_an_example_of_every_field() -> None:
    assert set(EXAMPLES) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_every_field_is_a_documented_setting(name: str) -> None:
    setting = TrainSettings.model_fields[name]
    assert setting.default == getattr(Preprocessing(), name)
    assert setting.description
    assert f"| `{name}` |" in SETTINGS_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RULES)
def test_every_field_goes_from_the_settings_to_the_record(name: str) -> None:
    spec, value = EXAMPLES[name]
    env = {"game": spec.game} if spec.game else {"env_id": "parcade/CarRacing-v3"}
    record = env_spec(settings_for({**env, "observation": spec.observation, name: value})).preprocessing
    assert record == Preprocessing(**{name: value})


@pytest.mark.parametrize("name", RULES)
def test_every_field_changes_what_a_policy_is_told(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name][0], reason=f"{name} needs the extra `{NEEDS[name][1]}`")
    spec, value = EXAMPLES[name]
    assert played(spec.with_(**{name: value})) != played(spec) == played(spec)


def test_evaluation_drops_exactly_what_is_for_training_only() -> None:
    values = {name: value for name, (_, value) in EXAMPLES.items() if not RULES[name].only_for_games}
    trained = EnvSpec(env_id="parcade/CarRacing-v3", **values)
    judged = evaluated_as(trained, "fast")
    dropped = {part.name for part in fields(EnvSpec) if getattr(judged, part.name) != getattr(trained, part.name)}
    assert dropped == {name for name, rule in RULES.items() if rule.training_only}
    assert dropped == {"reward_clip", "missed_tile_cost", "patience", "terminal_on_life_loss"}
    assert not any(getattr(judged, name) for name in dropped)


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.not_for_games])
def test_a_game_refuses_what_is_not_for_games_and_says_why(name: str) -> None:
    with pytest.raises(SettingsError) as told:
        EnvSpec(game="lantern", **{name: EXAMPLES[name][1]})
    assert str(told.value) == f"{name} is for Gymnasium envs, not for the game lantern; {RULES[name].not_for_games}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rom": "mine.gb", "observation": "pixels"}, "observation and rom|rom and observation"),
        ({"game_options": {"floors": 1}}, "game_options is"),
        ({"console": "mgba"}, "console is"),
        ({"picture_size": "full"}, "picture_size is .*; give resize instead of picture_size"),
    ],
)
def test_what_is_for_games_is_refused_for_a_gymnasium_env(given: dict[str, Any], told: str) -> None:
    for refuse in (
        lambda: EnvSpec(env_id="CartPole-v1", **given),
        lambda: settings_for({"env_id": "CartPole-v1", **given}),
    ):
        with pytest.raises(SettingsError, match=told) as fault:
            refuse()
        assert "for games, not for the Gymnasium env CartPole-v1" in str(fault.value)


def test_an_env_with_nothing_to_do_is_not_wrapped() -> None:
    assert type(make(PLAIN)) is type(make(PLAIN.with_(grayscale=False))) is Meter
    assert type(make(METER)) is PreprocessedEnv


def test_a_spec_of_before_loads_and_is_written_with_the_same_fields() -> None:
    written = {
        **{"game": None, "env_id": "parcade/CarRacing-v3", "rom": None, "state": None, "console": "auto"},
        **{"imports": [], "env_kwargs": {}, "game_options": {}, "reward_weights": {}, "observation": "features"},
        **{"frame_skip": 4, "frames_stack": 4, "grayscale": True, "picture_size": None, "crop": None},
        **{"resize": [48, 48], "reward_clip": None, "max_steps": None, "action_scale": [1.0, 1.0, 0.2]},
        **{"missed_tile_cost": 40.0, "patience": 25, "render": False},
    }
    spec = EnvSpec.from_dict(written)
    assert (spec.resize, spec.action_scale, spec.imports, spec.missed_tile_cost) == ((48, 48), (1.0, 1.0, 0.2), (), 40)
    assert EnvSpec.from_dict(spec.to_dict()) == spec
    assert {**spec.to_dict(), "imports": [], "resize": [48, 48], "action_scale": [1.0, 1.0, 0.2]} == {
        **written,
        "info_keys": (),
        **{"noop_max": 0, "fire_on_reset": False, "terminal_on_life_loss": False, "max_over_frames": False},
        "sticky_actions": None,
        **{"guide": None, "visited": False},
    }
