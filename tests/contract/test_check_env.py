"""check_env: nothing to say about good envs, the right sentence about bad ones."""

from __future__ import annotations

import re
import threading
import time
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import toy_envs as toys
from gymnasium import spaces

from parcade.env.check import check_env, examine, quick_faults
from parcade.env.spec import EnvSpec


@pytest.mark.parametrize(
    "good",
    [
        "lantern",
        "CartPole-v1",
        EnvSpec(game="lantern", observation="both", frames_stack=2),
        EnvSpec(env_id="Pendulum-v1"),
        toys.Toy,
        toys.DictObs,
        toys.TupleObs,
        toys.MultiActions,
        toys.BinaryActions,
        toys.BoxActions,
        toys.TreeActions,
        lambda: gym.wrappers.TimeLimit(toys.Toy(), 3),
    ],
)
def test_a_good_env_has_no_faults(good):
    assert check_env(good) == []


def test_an_env_itself_is_checked_and_left_open():
    env = gym.make("CartPole-v1")
    assert check_env(env) == []
    env.reset(seed=1)
    env.step(0)
    env.close()


class Answers(toys.Toy):
    """Answers as it is told to."""

    def __init__(self, observation=None, reward=None, terminated=None, info=None, shape_of_answer=5):
        self.answer = observation, reward, terminated, info
        self.parts = shape_of_answer

    def _observe(self):
        return super()._observe() if self.answer[0] is None else self.answer[0]

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        reward = reward if self.answer[1] is None else self.answer[1]
        terminated = terminated if self.answer[2] is None else self.answer[2]
        return (observation, reward, terminated, truncated, info)[: self.parts]


def bad(**answers):
    return partial(Answers, **answers)


class BadBounds(toys.Toy):
    observation_space = spaces.Box(0, 0.001, (4,), np.float32)


class NoSpace(toys.Toy):
    observation_space = None


class Texts(toys.Toy):
    action_space = spaces.Text(3)


class Unbounded(toys.Toy):
    action_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)


class OldReset(toys.Toy):
    def reset(self):
        return super().reset()


class BareReset(toys.Toy):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class BadReset(toys.Toy):
    def reset(self, *, seed=None, options=None):
        raise ZeroDivisionError("no start")


class Unseeded(toys.Toy):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)


class Remembers(toys.Toy):
    """The first observation is right, what follows depends on how many episodes came before."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        return super().reset(seed=seed)

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward + self.episodes, *rest


class Carries(toys.Toy):
    """What an episode is depends on whether another one came right before it."""

    seed = changed = None

    def reset(self, *, seed=None, options=None):
        self.changed = self.seed not in (None, seed)
        self.seed = seed
        return super().reset(seed=seed)

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward + self.changed, *rest


class StaysOver(toys.Toy):
    over = False

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.over = self.over or terminated or truncated
        return observation, reward, self.over, False, info


class EachDifferent(toys.Toy):
    def __init__(self):
        self.level = time.perf_counter()


class SlowReset(toys.Toy):
    def reset(self, *, seed=None, options=None):
        time.sleep(1.1)
        return super().reset(seed=seed)


class WrongDict(toys.DictObs):
    def _observe(self):
        return {"place": super()._observe()["place"]}


class WrongLeaf(toys.DictObs):
    def _observe(self):
        return super()._observe() | {"inner": {"steps": 100, "bits": np.zeros(3, np.int8)}}


class NanLater(toys.DictObs):
    """The second number of a leaf is no number from step 3 of some seeds on."""

    def reset(self, *, seed=None, options=None):
        self._is_bad = seed == 8
        return super().reset(seed=seed)

    def _observe(self):
        seen = super()._observe()
        if self._is_bad and self._steps == 3:
            seen["place"][1] = np.nan
        return seen


class Masked(toys.Toy):
    """Raises for actions that its mask forbids."""

    observation_space = spaces.Dict(
        {"place": toys.Toy.observation_space, "action_mask": spaces.MultiBinary(3)},
    )

    def _observe(self):
        return {"place": super()._observe(), "action_mask": np.array([0, 1, 1], np.int8)}

    def step(self, action):
        assert action != 0
        return super().step(action)


class Deterministic(toys.Toy):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=0)


def raises():
    raise RuntimeError("no licence")


FAULTS = {
    "observation has shape": (bad(observation=np.zeros(3, np.float32)), r"has shape \(3,\), its space \(4,\)"),
    "observation has dtype": (bad(observation=np.zeros(4)), "has dtype float64, its space float32. Convert"),
    "observation is a list": (bad(observation=[0.0] * 4), "is .*a list. Return a numpy array of float32"),
    "observation is infinite": (bad(observation=np.full(4, np.inf, np.float32)), "holds an infinite number"),
    "step of four parts in wrappers": (
        lambda: gym.wrappers.TimeLimit(bad(shape_of_answer=4)(), 9),
        "step 1 returned a tuple of 4 parts",
    ),
    "observation is NaN": (bad(observation=np.full(4, np.nan, np.float32)), "holds NaN"),
    "observation is outside": (BadBounds, "lies between .* outside Box.*Widen the space or clip"),
    "dict lacks a key": (WrongDict, r"Return a dict with the keys \['inner', 'place'\]"),
    "leaf of a dict": (WrongLeaf, r"The observation 'inner/steps' of reset is 100, outside Discrete\(100\)"),
    "no space": (NoSpace, "has no observation_space. Set self.observation_space"),
    "space unsupported": (Texts, "The action_space cannot be used: Text spaces cannot be shared"),
    "action space unbounded": (Unbounded, "action space has no bounds"),
    "reward is text": (bad(reward="3"), "The reward of step 1 is '3', a str. Return a float"),
    "reward is an array": (bad(reward=np.ones(1)), "The reward of step 1 is an array of float64"),
    "reward is infinite": (bad(reward=float("inf")), "The reward of step 1 is inf. Return a finite number"),
    "terminated is a number": (bad(terminated=0), "terminated of step 1 is 0, a int. Return True or False"),
    "terminated is text": (bad(terminated="no"), "terminated of step 1 is 'no', a str. Return True or False"),
    "terminated is an array": (bad(terminated=np.ones(2)), "terminated of step 1 is an array of float64"),
    "step of four parts": (bad(shape_of_answer=4), "step 1 returned a tuple of 4 parts. Return"),
    "step raises": (toys.Raise, "step 1 raised ZeroDivisionError: a toy fault for the action"),
    "reset takes no seed": (OldReset, "reset failed: .*Define it as reset"),
    "reset returns no info": (BareReset, r"reset returned an array .*Return \(observation, info\)"),
    "reset raises": (BadReset, "reset raised ZeroDivisionError: no start"),
    "reset ignores its seed": (Unseeded, r"reset\(seed=1\) gave two different observations"),
    "episodes remember": (Remembers, "The same seed and actions gave another episode, from step 1 on"),
    "episodes carry over": (Carries, "gave another episode, from step 1 on, after other episodes"),
    "stays over": (StaysOver, "first step after an ended episode ends again"),
    "envs differ": (EachDifferent, "Two envs of one factory gave different episodes"),
    "reset is slow": (SlowReset, r"reset took 1\.\d s\. Every episode waits"),
    "factory raises": (raises, "The env cannot be made: RuntimeError: no licence"),
    "no env": (lambda: 3, "The factory returned int. Return a gymnasium.Env"),
    "no factory": (3, "Wanted an env, a factory, a spec or a name, got int"),
    "unknown id": ("CartPole-v11", "'CartPole-v11' is not registered"),
}


@pytest.mark.parametrize(("env", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named(env, words):
    (fault,) = check_env(env)
    assert re.search(words, fault), fault
    assert fault[-1] == "."


def test_what_cannot_be_pickled_is_said_and_the_rest_still_checked():
    lock = threading.Lock()
    faults = check_env(lambda: (lock, bad(reward="x")())[1])
    assert len(faults) == 2
    assert "The factory cannot be pickled" in faults[0]
    assert "The reward of step 1 is 'x'" in faults[1]


def test_an_action_mask_is_kept_to():
    assert check_env(Masked) == []


def test_nan_is_named_with_slot_key_and_step():
    gym.register("NanLater-v0", NanLater)
    try:
        (fault,) = check_env("NanLater-v0", seeds=(7, 8))
        assert fault.startswith("The observation 'place' of step 3 in slot 1 holds NaN.")
        assert check_env("NanLater-v0", seeds=(7, 9)) == []
    finally:
        gym.registry.pop("NanLater-v0")


def test_the_env_inside_its_preprocessing_is_looked_at():
    gym.register("Wide-v0", BadBounds)
    try:
        (fault,) = check_env(EnvSpec(env_id="Wide-v0", reward_clip=1.0))
        assert "outside Box" in fault
    finally:
        gym.registry.pop("Wide-v0")


def test_seeds_without_effect_are_noted_and_no_fault():
    found = examine(Deterministic)
    assert found.faults == []
    assert "4 seeds gave the same" in found.notes[0]
    assert examine(toys.Toy).notes == []


@pytest.mark.parametrize(
    ("env", "words", "is_fatal"),
    [
        (bad(observation=np.zeros(3, np.float32)), "of reset in slot 5 has shape", True),
        (bad(observation=np.zeros(4)), "has dtype float64", False),
        (bad(observation=["a"] * 4), "a list", True),
        (bad(reward=None, observation=np.full(4, np.nan, np.float32)), "holds NaN", True),
        (bad(reward="5"), "The reward of step 1 in slot 5 is '5'", True),
        (bad(reward=np.ones(1)), "The reward of step 1 in slot 5 is an array", False),
        (bad(shape_of_answer=4), "step 1 in slot 5 returned a tuple of 4 parts", True),
        (BadBounds, "outside Box", False),
        (OldReset, "reset failed in slot 5", True),
        (Unseeded, "A worker that dies could not be brought back exactly", False),
        (Carries, "A worker that dies could not be brought back exactly", False),
    ],
)
def test_a_quick_look_tells_what_nothing_can_be_learned_in(env, words, is_fatal):
    (fault,) = quick_faults(env(), 5)
    assert words in fault.text
    assert fault.is_fatal is is_fatal


@pytest.mark.parametrize("env", [toys.Toy, toys.DictObs, toys.TreeActions, Masked])
def test_a_quick_look_finds_nothing_wrong_with_good_envs(env):
    assert quick_faults(env(), 0) == []
