"""What an env is trained as and evaluated as: CarRacing says it of itself, all others are what they are."""

from __future__ import annotations

from typing import Any

import pytest

from parcade.bench.racing import follow_track
from parcade.env.judged import evaluated_as, names_of, trained_as
from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError
from parcade.train.given import env_spec, settings_for

FAST, OFFICIAL = "parcade/CarRacing-v3", "CarRacing-v3"


@pytest.mark.parametrize(
    ("env_id", "choice", "trained"),
    [
        ("CarRacing", None, FAST),
        (OFFICIAL, None, FAST),
        (OFFICIAL, "fast", FAST),
        (OFFICIAL, "official", OFFICIAL),
        ("CarRacing", "official", OFFICIAL),
        (FAST, None, FAST),
        (FAST, "fast", FAST),
    ],
)
def test_carracing_is_trained_fast_unless_asked_otherwise(env_id: str, choice: str | None, trained: str) -> None:
    assert trained_as(EnvSpec(env_id=env_id), choice).env_id == trained
    settings = settings_for({"env_id": env_id, **({"racing": choice} if choice else {})})
    assert settings.env_id == (OFFICIAL if env_id == "CarRacing" else env_id)
    assert settings.racing == (choice or "fast")
    assert env_spec(settings).env_id == trained


@pytest.mark.parametrize("env_id", [FAST, OFFICIAL])
@pytest.mark.parametrize(("choice", "judged"), [("official", OFFICIAL), ("fast", FAST)])
def test_carracing_is_evaluated_on_the_official_env_unless_asked_otherwise(
    env_id: str, choice: str, judged: str
) -> None:
    assert evaluated_as(EnvSpec(env_id=env_id), choice).env_id == judged
    assert evaluated_as(EnvSpec(env_id=env_id)).env_id == OFFICIAL


@pytest.mark.parametrize("spec", [EnvSpec(env_id="CartPole-v1", frame_skip=2), EnvSpec(game="lantern", max_steps=9)])
def test_another_env_is_what_it_is(spec: EnvSpec) -> None:
    assert trained_as(spec, None) == evaluated_as(spec) == evaluated_as(spec, "fast") == spec
    assert names_of(spec.env_id) == (spec.env_id,)
    with pytest.raises(SettingsError, match=f"racing 'fast' is for env_id CarRacing-v3, not for '{spec.label}'"):
        trained_as(spec, "fast")


def test_users_call_our_carracing_by_the_official_name_but_not_the_other_way_round() -> None:
    assert set(names_of(FAST)) == {FAST, OFFICIAL}
    assert names_of(OFFICIAL) == (OFFICIAL,)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"env_id": FAST, "racing": "official"}, "is the fast track; racing 'official' goes with CarRacing-v3"),
        ({"env_id": OFFICIAL, "racing": "official", "missed_tile_cost": 1}, "missed_tile_cost is for the fast track"),
        ({"game": "lantern", "racing": "fast"}, "racing 'fast' is for env_id CarRacing-v3, not for 'lantern'"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(SettingsError, match=fault):
        settings_for(given)


def test_no_cost_goes_with_either_track() -> None:
    assert env_spec(settings_for({"env_id": OFFICIAL, "racing": "official", "missed_tile_cost": 0})).env_id == OFFICIAL


def test_the_cost_may_be_an_argument_of_the_env_and_is_dropped_in_evaluation() -> None:
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    spec = EnvSpec(env_id=FAST, env_kwargs={"missed_tile_cost": 3.0, "continuous": True})
    judged = evaluated_as(spec)
    assert (judged.env_id, judged.env_kwargs) == (OFFICIAL, {"continuous": True})
    env: Any = make(spec).unwrapped
    env.reset(seed=3)
    env.missed_tiles = 2
    assert env.frame_cost == 6.0
    env.close()


def test_a_bare_step_takes_the_cost_off_the_reward() -> None:
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    env: Any = make(EnvSpec(env_id=FAST, env_kwargs={"missed_tile_cost": 5.0})).unwrapped
    env.reset(seed=3)
    n_missed = 0
    for _ in range(400):
        earned = env.prev_reward
        paid = env.step(follow_track(env, speed=60.0, look_ahead=10))[1]
        assert paid == env.reward - earned - 5.0 * env.missed_tiles
        n_missed += env.missed_tiles
    assert n_missed > 3
    env.close()


@pytest.mark.parametrize(
    "spec", [EnvSpec(env_id=OFFICIAL, missed_tile_cost=1.0), EnvSpec(factory=b"x", missed_tile_cost=1.0)]
)
def test_the_cost_is_for_our_env_only(spec: EnvSpec) -> None:
    with pytest.raises(EnvError, match=f"missed_tile_cost is for {FAST}, but the env is {spec.label}"):
        make(spec)
