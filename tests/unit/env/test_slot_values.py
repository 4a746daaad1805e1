"""What an env returns reaches its rows unchanged, or is refused with the name of its leaf."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.slot import CopyingSlotEnv, fresh_rows, number_of, truth_of, write_leaves
from parcade.errors import EnvError

SPACE = spaces.Dict(
    {
        "place": spaces.Box(-9, 9, (3,), np.float32),
        "picture": spaces.Box(0, 255, (2,), np.uint8),
        "level": spaces.Discrete(5, start=1),
        "pair": spaces.MultiDiscrete([2, 3]),
    }
)
GOOD = {"place": np.ones(3, np.float32), "picture": np.zeros(2, np.uint8), "level": 5, "pair": np.array([1, 2])}


@pytest.mark.parametrize(
    "other",
    [{}, {"place": [1.0, 2, 3]}, {"place": np.ones(3)}, {"picture": np.array([0.0, 255.0])}, {"level": np.array(1)}],
)
def test_what_fits_is_copied(other):
    rows = fresh_rows(SPACE)
    write_leaves(SPACE, GOOD | other, rows)
    for name, value in (GOOD | other).items():
        assert np.array_equal(rows[name], value)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"place": 3.0}, r"its observation 'place' has shape \(\), its space \(3,\)"),
        ({"place": np.ones((1, 3))}, r"'place' has shape \(1, 3\)"),
        ({"place": [None] * 3}, "'place' is .*does not fit float32"),
        ({"place": ["1", "2", "3"]}, "'place' is .*does not fit float32"),
        ({"picture": np.array([0, 300])}, "'picture' is .*300.*does not fit uint8"),
        ({"picture": np.array([0.5, 1])}, "'picture' is .*does not fit uint8"),
        ({"picture": np.array([np.nan, 1])}, "'picture' is .*does not fit uint8"),
        ({"level": 99}, r"'level' is 99, outside Discrete\(5, start=1\)"),
        ({"level": np.int64(0)}, "'level' is .*0.*, outside"),
        ({"pair": np.array([1, 3])}, "'pair' is .*outside MultiDiscrete"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(other, words):
    with pytest.raises(EnvError, match=words):
        write_leaves(SPACE, GOOD | other, fresh_rows(SPACE))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "its observation is None, wanted a dict"),
        ({"a": 1}, "its observation lacks 'pair'"),
        ({"a": 1, "pair": 3}, "its observation 'pair' is 3, wanted a tuple"),
        ({"a": 1, "pair": (1,)}, "its observation 'pair' has 1 parts, its space 2"),
        ({"a": 1, "pair": {"0": 1}}, "its observation 'pair' is .*wanted a tuple"),
    ],
)
def test_parts_that_are_missing_are_named(value, words):
    space = spaces.Dict({"a": spaces.Discrete(2), "pair": spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))})
    with pytest.raises(EnvError, match=words):
        write_leaves(space, value, fresh_rows(space))


def test_a_step_answers_with_five_parts():
    class OldStep(gym.Env):
        observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)

        def step(self, action):
            return 0, 1.0, False, {}

    env = CopyingSlotEnv(OldStep())
    with pytest.raises(
        EnvError, match=r"its step returned \(0, 1.0, False, \{\}\), wanted \(observation, reward, term"
    ):
        env.advance(0, fresh_rows(env.observation_space))


def test_a_reward_is_a_number():
    assert number_of(np.float32(0.5)) == number_of(np.array([0.5])) == 0.5
    assert number_of(True) == 1.0
    for wrong in ("5", None, [1.0], np.ones(2)):
        with pytest.raises(EnvError, match=r"its reward is .*wanted a number"):
            number_of(wrong)


@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_the_end_of_an_episode_is_true_or_false(name):
    assert [truth_of(value, name) for value in (True, np.True_, 1, 1.0, np.int64(1), np.array([True]))] == [True] * 6
    assert [truth_of(value, name) for value in (False, np.False_, 0, np.float32(0), np.array(0))] == [False] * 5
    for wrong in (None, "False", "", 2, float("nan"), [], np.ones(2), {}):
        with pytest.raises(EnvError, match=f"its {name} is .*, wanted True or False"):
            truth_of(wrong, name)
