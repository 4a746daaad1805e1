"""What the adapters tell beside numbers: infos, seeds, reset options, and episodes that begin a step later."""

from __future__ import annotations

import os
import signal

import gymnasium as gym
import numpy as np
import pytest
import toy_envs as toys
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers
from gymnasium.wrappers.vector import DictInfoToList, NormalizeObservation, RecordEpisodeStatistics
from pool_support import no_leaks, until  # noqa: F401
from toy_envs import one

from parcade.api import make_pool
from parcade.errors import SettingsError
from parcade.pool.adapters import GymnasiumVectorEnv
from parcade.pool.seeding import episode_seed

SEED = 3
NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


class SeededBySlot(gym.Wrapper):
    """Resets with the seeds a pool would give: Gymnasium's own vector env as the reference."""

    def __init__(self, env, slot):
        super().__init__(env)
        self._slot, self._episode = slot, -1

    def reset(self, *, seed=None, options=None):
        self._episode += 1
        return self.env.reset(seed=episode_seed(SEED, self._slot, self._episode), options=options)


def vector(env, n=3, mode=SAME, infos=True, **options):
    groups = {"n_groups": n} if mode is NEXT else {}
    pool = make_pool(env, n, **{"n_workers": 2, "seed": SEED, **groups, **options})
    return GymnasiumVectorEnv(pool, autoreset_mode=mode, infos=infos)


def holds(ours, theirs):
    """Fail unless ``ours`` has all that ``theirs`` has, with the same types and values."""
    for key, value in theirs.items():
        if isinstance(value, dict):
            holds(ours[key], value)
            continue
        found = np.asarray(ours[key])
        assert (found.dtype, found.shape) == (value.dtype, value.shape), key
        for a, b in zip(found, value, strict=True):
            assert np.array_equal(a, b), key


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_infos_and_steps_are_those_of_gymnasiums_own_vector_env(mode, n_workers):
    makers = [lambda slot=slot: SeededBySlot(toys.Telling(), slot) for slot in range(3)]
    theirs, ours = SyncVectorEnv(makers, autoreset_mode=mode), vector(toys.Telling, mode=mode, n_workers=n_workers)
    assert ours.autoreset_mode is ours.metadata["autoreset_mode"] is mode
    assert ours.metadata["render_fps"] == 7
    (left, told), (right, expected) = ours.reset(), theirs.reset()
    assert np.array_equal(left, right)
    holds(told, expected)
    ours.action_space.seed(0)
    ends = 0
    for _ in range(45):
        actions = ours.action_space.sample()
        left, right = ours.step(actions), theirs.step(actions)
        for a, b in zip(left[:4], right[:4], strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        holds(left[4], right[4])
        ends += int((left[2] | left[3]).sum())
    assert ends >= 6
    ours.close()
    theirs.close()


def test_an_episodes_last_info_holds_its_return_length_and_success():
    envs = vector(toys.Telling)
    envs.reset()
    total = np.zeros(3)
    for _ in range(40):
        _, rewards, terminated, truncated, infos = envs.step(np.ones(3, int))
        total += rewards
        for slot in np.flatnonzero(terminated | truncated):
            final = infos["final_info"]
            assert final["episode_return"][slot] == pytest.approx(total[slot])
            assert final["episode_length"][slot] == final["steps"][slot]
            assert final["success"][slot] == final["is_success"][slot] == terminated[slot]
            total[slot] = 0
    envs.close()


def test_infos_can_be_left_out():
    envs = vector(toys.Telling, infos=False)
    assert envs.reset()[1] == {}
    told = [envs.step(np.ones(3, int))[4] for _ in range(20)]
    assert {key for info in told for key in info} == {"final_obs", "_final_obs", "final_info", "_final_info"}
    assert "steps" not in next(info["final_info"] for info in told if info)
    envs.close()


def test_games_tell_the_parts_of_their_rewards():
    envs = vector("lantern", n=2, max_steps=3)
    assert envs.reset()[1]["metrics"]["rooms_seen"].shape == (2,)
    assert envs.step(np.zeros(2, int))[4]["reward_parts"]["step"].tolist() == pytest.approx([-0.004] * 2)
    with pytest.raises(SettingsError, match="the game lantern takes none"):
        envs.reset(options={"level": 1})
    envs.close()


def test_infos_after_a_workers_death_are_those_of_the_same_step():
    envs, calm = vector(toys.Telling), vector(toys.Telling, n_workers=0)
    envs.reset(), calm.reset()
    for step in range(25):
        if step % 7 == 3:
            pid = envs.pool.worker_pids[step % 2]
            os.kill(pid, signal.SIGKILL)
        left, right = envs.step(np.ones(3, int)), calm.step(np.ones(3, int))
        holds(left[4], {key: value for key, value in right[4].items() if key != "final_obs"})
    assert len(envs.pool.restarts) >= 3
    envs.close()
    calm.close()


def test_an_info_that_cannot_be_sent_is_named():
    class Bad(toys.Toy):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)[0], {"pipe": (part for part in ())}

    envs = vector(Bad)
    with pytest.raises(Exception, match="info 'infos' in slot 0 failed: its result, a tuple, cannot be sent back"):
        envs.reset()
    envs.close()


def test_gymnasiums_observation_and_info_wrappers_fit_the_next_step_mode():
    envs = DictInfoToList(RecordEpisodeStatistics(NormalizeObservation(vector(toys.Telling, mode=NEXT))))
    envs.reset(seed=1)
    ended = 0
    for _ in range(30):
        observation, _, terminated, truncated, infos = envs.step(np.ones(3, int))
        assert np.isfinite(observation).all()
        for slot in np.flatnonzero(terminated | truncated):
            assert infos[slot]["episode"]["l"] == infos[slot]["steps"]
            ended += 1
    assert ended > 3
    envs.close()


def test_a_mode_needs_its_groups():
    with make_pool(toys.Toy, 2, n_workers=0) as pool:
        with pytest.raises(SettingsError, match="the pool has n_groups=1, NEXT_STEP needs n_groups=2"):
            GymnasiumVectorEnv(pool, autoreset_mode=NEXT)
        with pytest.raises(SettingsError, match="wanted SAME_STEP or NEXT_STEP"):
            GymnasiumVectorEnv(pool, autoreset_mode=AutoresetMode.DISABLED)


def test_actions_of_the_next_step_mode_are_checked_before_any_is_sent():
    envs = vector(toys.Toy, mode=NEXT)
    envs.reset()
    with pytest.raises(SettingsError, match=r"the actions are \[0, 1, 9\], wanted numbers from 0 to 2"):
        envs.step(np.array([0, 1, 9]))
    envs.step(np.array([0, 1, 2]))
    envs.close()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_a_list_of_seeds_and_reset_options_reach_the_envs(n_workers):
    envs = vector(toys.Telling, n_workers=n_workers)
    seen, infos = envs.reset(seed=[5, 6, 7], options={"level": 2})
    assert infos["seed"].tolist() == [5, 6, 7]
    assert envs.get_attr("options") == ({"level": 2},) * 3
    alone, _ = toys.Telling().reset(seed=6)
    assert np.array_equal(seen[1], alone)
    for _ in range(15):
        envs.step(np.ones(3, int))
    assert envs.get_attr("options") == ({},) * 3  # of the first episode alone
    assert np.array_equal(envs.reset(seed=[5, 6, 7])[0], seen)
    with pytest.raises(SettingsError, match="a pool begins all its slots together"):
        envs.reset(options={"reset_mask": np.array([True, False, False])})
    with pytest.raises(Exception, match="only a pool with a run seed can be dumped"):
        envs.pool.dump()
    envs.close()


def test_options_are_given_again_after_a_workers_death():
    envs = vector(toys.Telling)
    envs.reset(options={"level": 4})
    envs.step(np.ones(3, int))
    os.kill(envs.pool.worker_pids[0], signal.SIGKILL)
    envs.step(np.ones(3, int))
    assert envs.get_attr("options") == ({"level": 4},) * 3
    assert envs.pool.restarts
    envs.close()


def test_the_serial_pool_notices_unequal_spaces(tmp_path):
    def factory():
        marker = tmp_path / "made"
        cls = toys.BoxActions if marker.exists() else toys.Toy
        marker.touch()
        return cls()

    with pytest.raises(Exception, match=r"the action space of slot 1 is .*, that of slot 0 is Discrete"):
        make_pool(factory, 2, n_workers=0)


@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_one_action_for_each_env_of_a_dict_or_tuple_space(mode):
    envs = vector(toys.TreeActions, n=2, mode=mode)
    envs.single_action_space.seed(1)
    each = [envs.single_action_space.sample() for _ in range(2)]
    envs.reset()
    envs.step(each)
    for given, kept in zip(each, envs.get_attr("last_action"), strict=True):
        assert (toys.number(given) == toys.number(kept)).all()
    envs.close()


def test_as_many_envs_as_parts_are_told_apart():
    envs = vector(toys.PairActions, n=2)
    envs.reset()
    envs.step([(0, 1), (2, 3)])  # a list: one for each env
    assert envs.get_attr("last_action") == ((0, 1), (2, 3))
    envs.step(((0, 1), (2, 3)))  # a tuple, as the space's samples are: its parts
    assert envs.get_attr("last_action") == ((0, 2), (1, 3))
    envs.step((np.array([2, 0]), np.array([3, 1])))
    assert envs.get_attr("last_action") == ((2, 3), (0, 1))
    for bad in ([(0, 1)], [(0,), (1,)], 3, ({"a": 1}, {"a": 2})):
        with pytest.raises(SettingsError, match=r"wanted one action of Tuple.* for each of 2 envs, or its structure"):
            envs.step(bad)
    envs.close()


sb3 = pytest.importorskip("stable_baselines3")
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

from parcade.pool.adapters import Sb3VecEnv  # noqa: E402


def vec(env, n=3, infos=True, **options):
    return Sb3VecEnv(make_pool(env, n, **{"n_workers": 2, "seed": SEED, **options}), infos=infos)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_infos_are_those_of_sb3s_own_vec_env(n_workers):
    theirs = DummyVecEnv([lambda slot=slot: SeededBySlot(toys.Telling(), slot) for slot in range(3)])
    ours = vec(toys.Telling, n_workers=n_workers)
    ours.reset(), theirs.reset()
    np.testing.assert_equal(ours.reset_infos, theirs.reset_infos)
    for _ in range(30):
        left, right = ours.step(np.ones(3, int))[3], theirs.step(np.ones(3, int))[3]
        for info in left:
            assert ("episode" in info) == ("terminal_observation" in info)
            info.pop("episode", None)
        np.testing.assert_equal(left, right)
        np.testing.assert_equal(ours.reset_infos, theirs.reset_infos)
    assert ours.metadata["render_fps"] == 7
    ours.close()
    theirs.close()


class Clipped(gym.RewardWrapper):
    def reward(self, reward):
        return float(np.clip(reward, -0.1, 0.1))


def test_an_inner_monitor_tells_the_whole_return():
    def monitored():
        return Clipped(Monitor(toys.Toy()))

    class Idle:
        def predict(self, observation, **_):
            return np.ones(len(observation), int), None

    ours = vec(monitored, n=1)
    theirs = DummyVecEnv([lambda: SeededBySlot(monitored(), 0)])
    found, expected = (evaluate_policy(Idle(), env, n_eval_episodes=5)[0] for env in (ours, theirs))
    assert found == expected
    assert abs(found) > 2
    ours.close()
    theirs.close()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_maskable_ppo_finds_the_masks(n_workers):
    contrib = pytest.importorskip("sb3_contrib")
    env = vec(toys.Telling, n_workers=n_workers)
    assert env.has_attr("action_masks")
    assert not env.has_attr("nothing")
    contrib.MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, device="cpu").learn(48)
    env.close()


def test_sb3s_seeds_and_options_reach_each_env():
    env = vec(toys.Telling)
    assert env.seed(9) == [9, 10, 11]
    env.set_options([{"level": 1}, {}, {"level": 3}])
    env.reset()
    assert [info["seed"] for info in env.reset_infos] == [9, 10, 11]
    assert env.get_attr("options") == [{"level": 1}, {}, {"level": 3}]
    env.reset()
    assert env.get_attr("options") == [{}, {}, {}]
    env.close()


def test_sb3s_actions_are_one_for_each_env():
    env = vec(one(toys.PairActions), n=2)
    env.reset()
    env.step(((0, 1), (2, 3)))
    assert env.get_attr("last_action") == [(0, 1), (2, 3)]
    env.close()


FITTING = {
    "RecordEpisodeStatistics": {},
    "NormalizeReward": {},
    "ClipReward": {"min_reward": -1, "max_reward": 1},
    "ClipAction": {},
    "RescaleAction": {"min_action": -0.5, "max_action": 0.5},
    "DictInfoToList": {},
}
FITTING_NEXT_STEP = {
    "NormalizeObservation": {},
    "FlattenObservation": {},
    "RescaleObservation": {"min_obs": np.float32(0), "max_obs": np.float32(1)},
}


class Bounded(toys.BoxActions):
    observation_space = gym.spaces.Box(-100, 100, (4,), np.float32)


@pytest.mark.parametrize(
    ("name", "mode"), [*((n, m) for n in FITTING for m in (SAME, NEXT)), *((n, NEXT) for n in FITTING_NEXT_STEP)]
)
def test_gymnasiums_vector_wrappers_fit(name, mode):
    options = {**FITTING, **FITTING_NEXT_STEP}[name]
    envs = getattr(wrappers, name)(vector(Bounded, n=2, mode=mode, n_workers=0), **options)
    envs.reset(seed=1)
    for _ in range(20):
        envs.step(envs.action_space.sample())
    envs.close()


@pytest.mark.parametrize("mode", [SAME, NEXT])
def test_record_video_writes_a_film(mode, tmp_path):
    pytest.importorskip("moviepy")
    from gymnasium.wrappers.vector import RecordVideo

    envs = RecordVideo(vector("lantern", n=2, mode=mode, n_workers=0, render=True), str(tmp_path), video_length=5)
    envs.reset(seed=1)
    for _ in range(8):
        envs.step(np.zeros(2, int))
    envs.close()
    assert list(tmp_path.glob("*.mp4"))
