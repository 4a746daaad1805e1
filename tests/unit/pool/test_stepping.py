import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.slot import as_slot_env
from parcade.errors import EnvError
from parcade.pool.actor import ActorShape
from parcade.pool.block import Block, EnvShape, block_fields, status_fields
from parcade.pool.calling import answer, check_call, result
from parcade.pool.mapped import MappedArrays, plan_layout
from parcade.pool.seeding import NumberedEpisodes, TrainingEpisodes, episode_seed
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


T = 4


@pytest.fixture
def files():
    shape = EnvShape(Count.observation_space, Count.action_space, ())
    layouts = [plan_layout(status_fields(2, 1)), plan_layout(block_fields(shape, 2, T, ActorShape()))]
    found = [MappedArrays.create(layout) for layout in layouts]
    yield found
    for file in found:
        file.close()


@pytest.fixture
def block(files):
    return Block(files[1], ())


@pytest.fixture
def runner(files, block):
    runner = SlotRunner(as_slot_env(Count()), 1, 0, TrainingEpisodes(4), files[0].arrays, block)
    runner.begin(0, {"obs": block.obs["obs"][0, 1]})
    return runner


def act(block, t, number, pair=(1, 0)):
    block.action["0"][t, 1] = number
    block.action["1"][t, 1] = pair


def step(runner, t):
    runner.emulate(t)
    runner.observe(t)


def test_an_episode_that_ends_is_followed_by_the_next_in_the_same_step(files, block, runner):
    for t, number in enumerate((5, 6, 7)):
        act(block, t, number)
        step(runner, t)
    assert block.final_of(2, 1)["obs"].tolist() == [episode_seed(4, 1, 0), 3]
    assert block.obs["obs"][:4, 1, 1].tolist() == [0, 1, 2, 0]
    assert block.obs["obs"][3, 1, 0] == episode_seed(4, 1, 1)
    assert block.terminated[:3, 1].tolist() == [False, False, True]
    assert block.reward[:3, 1].tolist() == [5, 6, 7]
    (episode,) = block.episodes()
    assert episode[:6] == (1, 2, 0, 18.0, 3, True)
    assert block.episode[:3, 1].tolist() == [0, 0, 1]
    assert files[0].arrays["episode_seed"][1] == episode_seed(4, 1, 1)


def test_an_action_an_env_keeps_stays_as_it_was(block, runner):
    act(block, 0, 5)
    step(runner, 0)
    act(block, 0, 6, (0, 1))
    kept = runner.env.env.kept[0]
    assert kept[0] == 5
    assert type(kept[0]) is int
    assert kept[1].tolist() == [1, 0]


def test_a_replay_writes_the_observation_and_nothing_else(files, block, runner):
    block.reward[:, 1] = 99
    runner.replay(7, {"0": np.array([2, 3]), "1": np.zeros((2, 2), np.int8)}, 2)
    assert block.obs["obs"][2, 1].tolist() == [episode_seed(4, 1, 7), 2]
    assert (block.reward[:, 1] == 99).all()
    assert files[0].arrays["running_return"][1] == 5


def test_a_replay_that_ends_before_its_time_is_no_replay(runner):
    with pytest.raises(EnvError, match=r"ended at step 3 of 5.*not a function of its seed and actions"):
        runner.replay(0, {"0": np.zeros(5, np.int64), "1": np.zeros((5, 2), np.int8)}, 0)


def test_a_doomed_slot_is_cut_instead_of_stepped(block, runner):
    runner.replay(0, {"0": np.array([2]), "1": np.zeros((1, 2), np.int8)}, 1, doomed=True)
    steps_before = len(runner.env.env.kept)
    step(runner, 1)
    assert (block.reward[1, 1], block.terminated[1, 1], block.truncated[1, 1]) == (0, False, True)
    assert (block.episode_return[1, 1], block.episode_length[1, 1], block.episode[1, 1]) == (2, 1, 1)
    assert block.final["obs"][0, 1].tolist() == [episode_seed(4, 1, 0), 1]
    assert len(runner.env.env.kept) == steps_before
    act(block, 2, 1)
    step(runner, 2)
    assert not block.truncated[2, 1]


def test_poisoned_episodes_are_skipped(files, block, runner):
    runner.poisoned = frozenset({(1, 1), (1, 2), (0, 3)})
    for t in range(3):
        act(block, t, 0)
        step(runner, t)
    assert files[0].arrays["episode"][1] == 3


def test_a_slot_without_episodes_stands_still(block, runner):
    runner.episodes = NumberedEpisodes(9, n_slots=2, n_episodes=2)
    for t in range(4):
        act(block, t, 5)
        step(runner, t)
    assert runner.parked
    assert len(runner.env.env.kept) == 3
    assert (block.reward[3, 1], block.terminated[3, 1], block.truncated[3, 1]) == (0, False, False)
    assert block.obs["obs"][4, 1].tolist() == block.obs["obs"][3, 1].tolist()


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
