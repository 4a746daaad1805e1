"""The picture of visited places: against a plain set of places, in games, and where there is none."""

import numpy as np
import pytest

from parcade import EnvSpec, make_env, train
from parcade.env.make import check_spec, make
from parcade.env.spec import VISITED
from parcade.env.visited import BEEN, SIDE, VisitedPlaces
from parcade.errors import SettingsError
from parcade.explore.picture_cells import picture_leaf
from parcade.learn.shifting import STILL


def by_hand(seen, place):
    """Return the picture around ``place`` of a set of places, pixel by pixel."""
    picture = np.zeros((1, SIDE, SIDE), np.uint8)
    for name, x, y in seen:
        column, row = x - place[1] + SIDE // 2, y - place[2] + SIDE // 2
        if name == place[0] and 0 <= column < SIDE and 0 <= row < SIDE:
            picture[0, row, column] = BEEN
    return picture


def test_the_picture_is_what_a_set_of_places_says():
    rng, visited, seen = np.random.default_rng(0), VisitedPlaces(), set()
    row = np.full((1, SIDE, SIDE), 7, np.uint8)
    x, y = 0, 0
    for step in range(400):
        x, y = x + int(rng.integers(-3, 4)), y + int(rng.integers(-3, 4))  # below zero as well
        place = "cave" if step % 50 > 40 else "field", x, y
        seen.add(place)
        visited.write(place, row)
        assert np.array_equal(row, by_hand(seen, place)), step
    assert row[0, SIDE // 2, SIDE // 2] == BEEN
    visited.write(None, row)
    assert not row.any()
    visited.clear()
    visited.write(("field", 5, 5), row)
    assert row.sum() == BEEN


@pytest.mark.parametrize("observation", ["features", "pixels", "both"])
def test_a_game_shows_where_its_hero_has_been(observation):
    env, plain = (make_env("lantern", observation=observation, frame_skip=16, visited=v) for v in (True, False))
    seen, actions = set(), np.random.default_rng(1).integers(6, size=150)
    for seed in (3, 4):
        shown, _ = env.reset(seed=seed)
        expected, _ = plain.reset(seed=seed)
        seen.clear()
        for action in actions:
            seen.add(env.unwrapped.place())
            assert np.array_equal(shown[VISITED], by_hand(seen, env.unwrapped.place()))
            rest = {name: value for name, value in shown.items() if name != VISITED}
            assert all(
                np.array_equal(rest[name], (expected if len(rest) > 1 else {name: expected})[name]) for name in rest
            )
            shown, *_ = env.step(action)
            expected, *_ = plain.step(action)
        assert len(seen) > 10
    assert env.observation_space.contains(shown)
    env.close()
    plain.close()


def test_it_goes_back_with_a_snapshot():
    env = make(EnvSpec(game="lantern", frame_skip=16, visited=True))
    actions = np.random.default_rng(1).integers(6, size=60)
    env.reset(seed=3)
    for action in actions[:30]:
        env.step(action)
    moment = env.snapshot()
    first = [env.step(action)[0][VISITED] for action in actions[30:]]
    env.reset(seed=9)
    env.restore(moment)
    again = [env.step(action)[0][VISITED] for action in actions[30:]]
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    assert first[-1].sum() > first[0].sum()
    env.close()


def test_it_is_no_picture_of_the_screen():
    rows = np.zeros((2, 1, 1, SIDE, SIDE), np.uint8)
    assert picture_leaf({VISITED: rows}) is None
    assert picture_leaf({VISITED: rows, "pixels": rows}) == "pixels"
    assert STILL == VISITED  # the learner must not shift it


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"game": "airstriker"}, r"airstriker does not say where its hero is \(no method place\)"),
        ({"env_id": "CartPole-v1"}, "visited is for games, not for the Gymnasium env CartPole-v1"),
        ({"game": "lantern", "archive_share": 0.5, "cell_kind": "picture"}, "cell_kind picture needs pictures"),
    ],
)
def test_where_there_is_none_it_is_one_sentence(given, told, tmp_path):
    with pytest.raises(SettingsError, match=told) as error:
        train(**given, visited=True, n_envs=2, n_steps=8, n_workers=0, log_root=str(tmp_path))
    assert "\n" not in str(error.value)
    assert not any(tmp_path.iterdir())


def test_a_spec_without_places_is_refused_before_anything_runs():
    with pytest.raises(SettingsError, match="has no visited picture"):
        check_spec(EnvSpec(game="airstriker", visited=True))
