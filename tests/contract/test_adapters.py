"""The pool as Gymnasium's and Stable-Baselines3's vector env."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import toy_envs as toys
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import NormalizeReward, RecordEpisodeStatistics
from pool_support import no_leaks  # noqa: F401
from toy_envs import one

from parcade.api import make_pool
from parcade.errors import SettingsError
from parcade.pool.adapters import GymnasiumVectorEnv
from parcade.pool.seeding import episode_seed

SEED = 3
DOCS = Path(__file__).parents[2] / "docs" / "pool.md"


def vector(env, n=3, **options):
    return GymnasiumVectorEnv(make_pool(env, n, **{"n_workers": 2, "seed": SEED, **options}))


class SeededBySlot(gym.Wrapper):
    """Resets with the seeds a pool would give: Gymnasium's own vector env as the reference."""

    def __init__(self, env, slot):
        super().__init__(env)
        self._slot, self._episode = slot, -1

    def reset(self, *, seed=None, options=None):
        self._episode += 1
        return self.env.reset(seed=episode_seed(SEED, self._slot, self._episode))


@pytest.mark.parametrize("cls", [toys.Toy, toys.DictObs, toys.TupleObs, toys.BoxActions, toys.MultiActions])
def test_it_steps_as_gymnasiums_own_same_step_vector_env(cls):
    makers = [lambda slot=slot: SeededBySlot(cls(), slot) for slot in range(3)]
    theirs = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    ours = vector(one(cls))
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    equal(ours.reset()[0], theirs.reset()[0])
    ours.action_space.seed(0)
    ends = 0
    for _ in range(40):
        actions = ours.action_space.sample()
        left, right = ours.step(actions), theirs.step(actions)
        for a, b in zip(left[:4], right[:4], strict=True):
            equal(a, b)
        assert left[4].get("_final_obs", np.zeros(3)).tolist() == right[4].get("_final_obs", np.zeros(3)).tolist()
        for slot in np.flatnonzero(left[4].get("_final_obs", [])):
            equal(left[4]["final_obs"][slot], right[4]["final_obs"][slot])
            assert left[4]["_final_info"][slot]
            ends += 1
    assert ends >= 6
    ours.close()
    theirs.close()


def equal(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            equal(a[key], b[key])
    elif isinstance(a, tuple):
        for left, right in zip(a, b, strict=True):
            equal(left, right)
    else:
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert (a == b).all()


def test_gymnasiums_wrappers_work_on_it():
    plain, wrapped = vector("lantern", max_steps=10), vector("lantern", max_steps=10)
    wrapped = NormalizeReward(RecordEpisodeStatistics(wrapped))
    plain.reset(seed=1)
    wrapped.reset(seed=1)
    total = np.zeros(3)
    for _ in range(10):
        actions = plain.action_space.sample()
        _, reward, _, truncated, infos = plain.step(actions)
        _, scaled, _, _, stats = wrapped.step(actions)
        total += reward
        assert np.isfinite(scaled).all()
    assert truncated.all()
    assert np.allclose(stats["episode"]["r"], total)
    assert stats["episode"]["l"].tolist() == [10, 10, 10]
    assert np.allclose(infos["final_info"]["episode_return"], total)
    assert infos["final_info"]["rooms_seen"].shape == (3,)
    plain.close()
    wrapped.close()


def test_what_it_hands_out_is_not_written_again():
    envs = vector(one(toys.Toy))
    first, _ = envs.reset(seed=1)
    kept = first.copy()
    second = envs.step(np.ones(3, int))
    copies = [part.copy() for part in second[:4]]
    envs.step(np.ones(3, int))
    assert (first == kept).all()
    assert all((a == b).all() for a, b in zip(second[:4], copies, strict=True))
    envs.close()


def test_reset_takes_one_seed_or_goes_on():
    envs = vector(one(toys.Toy))
    first, _ = envs.reset(seed=1)
    later, _ = envs.reset()
    assert not (first == later).any()
    assert (envs.reset(seed=1)[0] == first).all()
    for seed in ("1", [1, 2], [1, 2, None], -1):
        with pytest.raises(SettingsError, match="wanted one whole number from 0 on, or 3 of them"):
            envs.reset(seed=seed)
    envs.close()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_methods_and_attributes_of_the_envs(n_workers):
    envs = vector(one(toys.Toy), n_workers=n_workers)
    envs.reset()
    assert envs.call("sum_of", 1, 2) == (3, 3, 3)
    assert envs.call("level") == (1, 1, 1)
    envs.set_attr("level", [4, 5, 6])
    assert envs.get_attr("level") == (4, 5, 6)
    with pytest.raises(SettingsError, match="set_attr got 2 values for 3 slots"):
        envs.set_attr("level", (1, 2))
    assert envs.render_mode == "rgb_array"
    assert [picture.shape for picture in envs.render()] == [(6, 8, 3)] * 3
    envs.close()
    envs.close()


def test_adapters_want_one_group():
    with (
        make_pool(toys.Toy, 2, n_workers=0, n_groups=2) as pool,
        pytest.raises(SettingsError, match="needs n_groups=1"),
    ):
        GymnasiumVectorEnv(pool)


def test_gymnasiums_adapter_brings_in_neither_torch_nor_sb3():
    code = "import sys, parcade.pool.adapters; print({'torch', 'stable_baselines3'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


sb3 = pytest.importorskip("stable_baselines3")
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize, VecTransposeImage  # noqa: E402

from parcade.pool.adapters import Sb3VecEnv  # noqa: E402


def vec(env, n=3, **options):
    return Sb3VecEnv(make_pool(env, n, **{"n_workers": 2, "seed": SEED, **options}))


@pytest.mark.parametrize("cls", [toys.Toy, toys.BoxActions])
def test_it_steps_as_sb3s_own_vec_env(cls):
    theirs = DummyVecEnv([lambda slot=slot: SeededBySlot(cls(), slot) for slot in range(3)])
    ours = vec(one(cls))
    assert (ours.reset() == theirs.reset()).all()
    ours.action_space.seed(0)
    for _ in range(40):
        actions = np.stack([ours.action_space.sample() for _ in range(3)])
        left, right = ours.step(actions), theirs.step(actions)
        for a, b in zip(left[:3], right[:3], strict=True):
            assert a.dtype == b.dtype
            assert (a == b).all()
        for a, b in zip(left[3], right[3], strict=True):
            assert ("terminal_observation" in a) == ("terminal_observation" in b)
            assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]
            if "terminal_observation" in a:
                assert (a["terminal_observation"] == b["terminal_observation"]).all()
                assert set(a["episode"]) >= {"r", "l", "t"}
    ours.close()
    theirs.close()


def test_sb3_may_keep_what_it_gets():
    env = vec(one(toys.Toy))
    first = env.reset()
    second = env.step(np.ones(3, int))
    kept = [first.copy(), second[0].copy(), second[1].copy()]
    env.step(np.ones(3, int))
    assert all((a == b).all() for a, b in zip((first, *second[:2]), kept, strict=True))
    env.close()


def test_ppo_trains_on_it_and_its_numbers_do_not_depend_on_the_pool():
    def weights(env):
        model = sb3.PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=2, seed=1, device="cpu").learn(192)
        assert len(model.ep_info_buffer) >= 10
        found = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
        env.close()
        return found

    one_way, other = weights(vec(one(toys.Toy))), weights(vec(one(toys.Toy), n_workers=0))
    assert all((one_way[name] == other[name]).all() for name in one_way)


@pytest.mark.long
def test_ppo_trains_on_lanterns_pictures_and_features():
    env = vec("lantern", n=2, observation="both", max_steps=20)
    model = sb3.PPO("MultiInputPolicy", env, n_steps=16, batch_size=16, n_epochs=1, device="cpu")
    assert not isinstance(model.get_env(), VecTransposeImage)  # pictures are channel-first already
    model.learn(64)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=2, warn=False)
    assert np.isfinite(mean)
    env.close()


def test_sb3s_wrappers_methods_attributes_and_images():
    env = vec(lambda: TimeLimit(toys.Toy(), 4))
    assert env.env_is_wrapped(TimeLimit) == [True, True, True]
    assert env.env_is_wrapped(SeededBySlot, indices=1) == [False]
    assert env.env_method("sum_of", 2, plus=1, indices=[0, 2]) == [3, 3]
    env.set_attr("level", 5, indices=1)
    assert env.get_attr("level") == [1, 5, 1]
    assert env.has_attr("level")
    assert not env.has_attr("nothing")
    assert env.seed(9) == [9, 10, 11]
    first = env.reset()
    env.seed(9)
    assert (env.reset() == first).all()
    assert not (env.reset() == first).any()
    assert [image.shape for image in env.get_images()] == [(6, 8, 3)] * 3
    assert env.render("rgb_array").shape == (12, 16, 3)
    env.step_async(np.ones(3, int))
    assert env.step_wait()[0].shape == (3, 4)
    assert env.get_attr("level", indices=-2) == [5]
    assert env.env_method("sum_of", 4, indices=[-1, 0]) == [4, 4]
    for index in (3, -4):
        with pytest.raises(SettingsError, match=rf"an env's index is {index}, wanted -3 to 2"):
            env.get_attr("level", indices=index)
    env.close()


def test_vec_normalize_works_on_it():
    env = VecNormalize(vec(one(toys.Toy)))
    env.reset()
    for _ in range(20):
        assert np.isfinite(env.step(np.ones(3, int))[0]).all()
    env.close()


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)


def test_the_documentation_has_its_examples():
    text = DOCS.read_text()
    assert len(examples()) == 7
    for part in (
        "The block",
        "Play with an actor",
        "Play and learn at the same time",
        "Gymnasium's vector env",
        "Stable-Baselines3",
    ):
        assert f"## {part}" in text
    short = [len([line for line in code.splitlines() if line]) for code in examples() if "adapters" in code]
    assert short == [10, 8]


@pytest.mark.parametrize("number", range(7))
def test_the_documentations_examples_run(number, tmp_path):
    script = tmp_path / f"example_{number}.py"
    script.write_text(examples()[number])
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
