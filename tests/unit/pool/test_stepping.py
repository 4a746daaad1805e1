import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.slot import as_slot_env
from parcade.errors import EnvError
from parcade.pool.calling import answer, check_call, result
from parcade.pool.layout import plan_layout
from parcade.pool.seeding import episode_seed
from parcade.pool.slab import Slab
from parcade.pool.stepping import SlotRunner


class Count(gym.Env):
    """Observes its seed and the steps taken; ends after three."""

    observation_space = spaces.Box(0, np.inf, (2,), np.float64)
    action_space = spaces.Tuple((spaces.Discrete(9), spaces.MultiBinary(2)))

    def __init__(self, limit=3):
        self.limit, self.kept = limit, []

    def reset(self, *, seed=None, options=None):
        self.seed, self.steps = seed, 0
        return np.array([seed, 0.0]), {}

    def step(self, action):
        self.kept.append(action)
        self.steps += 1
        return np.array([self.seed, self.steps], float), float(action[0]), self.steps >= self.limit, False, {}


@pytest.fixture
def slab():
    slab = Slab.create(plan_layout(Count.observation_space, Count.action_space, (), 2, 1))
    yield slab
    slab.close()


@pytest.fixture
def runner(slab):
    runner = SlotRunner(as_slot_env(Count()), slab, 1, 0, run_seed=4)
    runner.begin(0)
    return runner


def act(slab, number):
    slab.arrays["action:0"][1] = number
    slab.arrays["action:1"][1] = [1, 0]


def obs(slab, prefix="obs"):
    return slab.arrays[f"{prefix}:obs"][1].tolist()


def test_an_episode_that_ends_is_followed_by_the_next_in_the_same_step(slab, runner):
    for number in (5, 6, 7):
        act(slab, number)
        runner.step()
    assert obs(slab, "final") == [episode_seed(4, 1, 0), 3]
    assert obs(slab) == [episode_seed(4, 1, 1), 0]
    a = slab.arrays
    assert (a["terminated"][1], a["truncated"][1], a["reward"][1]) == (1, 0, 7)
    assert (a["episode_return"][1], a["episode_length"][1], a["episode"][1], a["steps_done"][1]) == (18, 3, 1, 3)


def test_an_action_an_env_keeps_stays_as_it_was(slab, runner):
    act(slab, 5)
    runner.step()
    act(slab, 6)
    slab.arrays["action:1"][1] = [0, 1]
    kept = runner.env.env.kept[0]
    assert kept[0] == 5
    assert type(kept[0]) is int
    assert kept[1].tolist() == [1, 0]


def test_a_replay_writes_the_observation_and_nothing_else(slab, runner):
    slab.arrays["reward"][1] = 99
    runner.replay(7, {"0": np.array([2, 3]), "1": np.zeros((2, 2), np.int8)})
    assert obs(slab) == [episode_seed(4, 1, 7), 2]
    assert (slab.arrays["reward"][1], slab.arrays["steps_done"][1], slab.arrays["running_return"][1]) == (99, 0, 5)


def test_a_replay_that_ends_before_its_time_is_no_replay(slab, runner):
    with pytest.raises(EnvError, match=r"ended at step 3 of 5.*not a function of its seed and actions"):
        runner.replay(0, {"0": np.zeros(5, np.int64), "1": np.zeros((5, 2), np.int8)})


def test_a_doomed_slot_is_cut_instead_of_stepped(slab, runner):
    runner.replay(0, {"0": np.array([2]), "1": np.zeros((1, 2), np.int8)}, doomed=True)
    steps_before = len(runner.env.env.kept)
    runner.step()
    a = slab.arrays
    assert (a["reward"][1], a["terminated"][1], a["truncated"][1]) == (0, 0, 1)
    assert (a["episode_return"][1], a["episode_length"][1], a["episode"][1]) == (2, 1, 1)
    assert obs(slab, "final") == [episode_seed(4, 1, 0), 1]
    assert len(runner.env.env.kept) == steps_before
    act(slab, 1)
    runner.step()
    assert a["truncated"][1] == 0


def test_poisoned_episodes_are_skipped(slab, runner):
    runner.poisoned = frozenset({(1, 1), (1, 2), (0, 3)})
    for _ in range(3):
        act(slab, 0)
        runner.step()
    assert slab.arrays["episode"][1] == 3


class Doubler(gym.Wrapper):
    factor = 2

    def double(self, value, plus=0):
        return value * self.factor + plus


def test_calls_reach_wrappers_and_the_env_below():
    env = as_slot_env(Doubler(Count(limit=8)))
    assert answer(env, "call", "double", (4,), {"plus": 1}) == ("fine", 9)
    assert answer(env, "get", "limit", (), {}) == ("fine", 8)
    assert answer(env, "set", "limit", (5,), {}) == ("fine", None)
    assert env.env.unwrapped.limit == 5
    assert answer(env, "wrapped", "", (Doubler,), {}) == ("fine", True)
    assert answer(env, "wrapped", "", (gym.wrappers.TimeLimit,), {}) == ("fine", False)


def test_faults_of_calls_are_told_apart():
    env = as_slot_env(Count())
    with pytest.raises(AttributeError, match=r"no attribute 'nothing' \(slot 3\)"):
        result(3, "get", "nothing", answer(env, "get", "nothing", (), {}))
    with pytest.raises(Exception, match="call 'step' in slot 0 failed: AttributeError"):
        result(0, "call", "step", answer(env, "call", "step", (None,), {}))
    with pytest.raises(Exception, match="what is 'eat', wanted one of call"):
        check_call("eat", 0, 1)
    with pytest.raises(Exception, match="slot is 4, wanted 0 to 3"):
        check_call("get", 4, 4)
