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

from parcade.env.check import check_env
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


def raises():
    raise RuntimeError("no licence")


FAULTS = {
    "observation has shape": (bad(observation=np.zeros(3, np.float32)), r"has shape \(3,\), its space \(4,\)"),
    "observation has dtype": (bad(observation=np.zeros(4)), "has dtype float64, its space float32. Convert"),
    "observation is a list": (bad(observation=[0.0] * 4), "is .*a list. Return a numpy array of float32"),
    "observation is NaN": (bad(observation=np.full(4, np.nan, np.float32)), "holds NaN"),
    "observation is outside": (BadBounds, "lies between .* outside Box.*Widen the space or clip"),
    "dict lacks a key": (WrongDict, r"Return a dict with the keys \['inner', 'place'\]"),
    "leaf of a dict": (WrongLeaf, r"The observation 'inner/steps' of reset is 100, outside Discrete\(100\)"),
    "no space": (NoSpace, "has no observation_space. Set self.observation_space"),
    "space unsupported": (Texts, "The action_space cannot be used: Text spaces cannot be shared"),
    "action space unbounded": (Unbounded, "action space has no bounds"),
    "reward is text": (bad(reward="3"), "The reward is '3', a str. Return a float"),
    "reward is an array": (bad(reward=np.ones(1)), "The reward is an array of float64"),
    "reward is infinite": (bad(reward=float("inf")), "The reward is inf. Return a finite number"),
    "terminated is a number": (bad(terminated=0), "terminated is 0, a int. Return True or False"),
    "step of four parts": (bad(shape_of_answer=4), "step returned a tuple of 4 parts. Return"),
    "step raises": (toys.Raise, "step raised ZeroDivisionError: a toy fault for the action"),
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
    assert "The reward is 'x'" in faults[1]
