import numpy as np
import pytest
from tiny_envs import Endless, Follow, Locks, Maze, Recall, Table, bench

from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import NetSettings


def test_a_maze_is_solved_from_scratch():
    returns = bench(Maze).returns(40)
    assert np.mean(returns[:3]) < 0.5  # while acting at random
    assert np.mean(returns[-3:]) > 0.75  # the shortest ways are worth 0.8 on average


@pytest.mark.parametrize("box", ["gaussian", "beta"])
def test_continuous_answers_are_learned(box):
    returns = bench(Follow, net=NetSettings(hidden=(64, 64), box=box), ent_coef=0.0, gamma=0.5).returns(50)
    assert returns[0] < 7
    assert np.mean(returns[-3:]) > 7.6  # 8 is perfect


def test_an_episode_that_is_only_cut_keeps_its_future():
    trained = bench(Endless, gamma=0.9, learning_rate=1e-2, vf_coef=1.0)
    trained.returns(60)
    values = trained.learner.prepare(trained.collect()).values
    assert values == pytest.approx(1 / (1 - 0.9), abs=0.3)  # counted as deaths, no value could pass 4.1


def test_an_env_of_large_rewards_is_solved_with_both_normalisers():
    class Large(Maze):
        def step(self, action):
            seen, reward, over, cut, info = super().step(action)
            return 100 + 1000 * seen, 1000 * reward, over, cut, info

        def reset(self, *, seed=None, options=None):
            seen, info = super().reset(seed=seed)
            return 100 + 1000 * seen, info

    net = NetSettings(hidden=(64, 64), normalize_obs=True)
    returns = bench(Large, net=net, scaler=ReturnScaler(16, 0.99)).returns(40)
    assert np.mean(returns[-3:]) > 750


def test_a_table_of_states_is_learned_by_heart():
    """Needs one input for each state: seen as one number, 64 unordered states stay near the 5 of chance."""
    returns = bench(Table, gamma=0.0, n_steps=64).returns(40)
    assert returns[0] == pytest.approx(5, abs=1)
    assert np.mean(returns[-3:]) > 18.5


def test_only_memory_solves_recall():
    without = bench(Recall, gamma=0.95).returns(25)
    with_lstm = bench(Recall, gamma=0.95, net=NetSettings(hidden=(), lstm=32), n_steps=20).returns(40)
    assert abs(np.mean(without[-5:])) < 0.2
    assert np.mean(with_lstm[-3:]) > 0.9


def test_masked_doors_are_never_tried_and_the_right_ones_learned():
    returns = bench(Locks, gamma=0.5).returns(25)  # a locked door raises
    assert returns[0] == pytest.approx(4, abs=0.8)
    assert np.mean(returns[-3:]) > 7.6


def test_masks_work_together_with_memory():
    returns = bench(Locks, gamma=0.5, net=NetSettings(hidden=(), lstm=32)).returns(30)
    assert np.mean(returns[-3:]) > 7.4
