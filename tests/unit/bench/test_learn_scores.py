"""The pieces of `bench learn`: its table, its tiny envs, its rule, and short real runs of both trainers."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from parcade.bench.learn_envs import LocksEnv, RecallEnv, TableEnv
from parcade.bench.learn_scores import bench_learn, margin, scaled_steps, verdict
from parcade.bench.learn_tasks import TASKS, Task
from parcade.bench.learn_trainers import _peer_model, _PeerFactory, _schedule, peer_installed, play, settings_of
from parcade.env.make import make
from parcade.errors import EnvError, SettingsError
from parcade.learn.policy import NetSettings, Policy
from parcade.train.assembly import leaf_shapes


def quiet(text):
    pass


@pytest.mark.parametrize("name", TASKS)
def test_every_budget_is_made_of_whole_rollouts(name):
    task = TASKS[name]
    settings = settings_of(task, {}, 0, task.env_steps)
    assert task.env_steps % settings.rows_per_update == 0
    assert scaled_steps(task, 1.0) == task.env_steps
    assert scaled_steps(task, 1e-9) == settings.rows_per_update


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")  # of one env only
@pytest.mark.parametrize("name", TASKS)
def test_both_trainers_have_the_same_network_and_numbers(name):
    task = TASKS[name]
    if not peer_installed(task):
        pytest.skip(f"{task.peer} is not installed (extra dev; sb3-contrib)")
    from stable_baselines3.common.vec_env import DummyVecEnv

    settings = settings_of(task, {}, 0, task.env_steps).model_copy(update={"n_envs": 1})
    vector_env = DummyVecEnv([_PeerFactory(task.spec())])
    env = make(task.spec())
    try:
        model = _peer_model(task, settings, vector_env)
        net = NetSettings(settings.cnn, settings.hidden, settings.activation, settings.box_policy, settings.lstm)
        ours = Policy(leaf_shapes(env.observation_space), env.action_space, net)
        counts = [sum(p.numel() for p in network.parameters()) for network in (ours, model.policy)]
        assert counts[0] == counts[1]
        for setting in ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "vf_coef"):
            assert getattr(model, setting) == getattr(settings, setting), setting
        assert model.policy.optimizer.defaults["eps"] == 1e-5
    finally:
        vector_env.close()
        env.close()


def test_sb3s_schedule_gives_every_update_what_ours_gives():
    settings = settings_of(TASKS["cartpole"], {}, 0, 1024)
    rows, total = settings.rows_per_update, settings.total_timesteps
    schedule = _schedule(2.0, "linear", settings)
    for update in range(total // rows):
        left_after_the_rollout = 1 - (update + 1) * rows / total  # what SB3 hands to its schedules
        assert schedule(left_after_the_rollout) == pytest.approx(2.0 * (1 - update * rows / total))
    assert _schedule(2.0, "constant", settings)(0.1) == 2.0


@pytest.mark.parametrize("env", [RecallEnv(), LocksEnv(masked=False), TableEnv()])
def test_the_tiny_envs_keep_the_gymnasium_contract(env):
    from gymnasium.utils.env_checker import check_env

    check_env(env, skip_render_check=True)


def test_recall_shows_the_sign_once_and_asks_for_it_once():
    env = RecallEnv(delay=3)
    first, _ = env.reset(seed=0)
    sign = int(np.argmax(first))
    assert first.sum() == 1
    later = [env.step(sign) for _ in range(4)]
    assert [list(step[0]) for step in later[:3]] == [[0] * 5, [0] * 5, [0, 0, 0, 0, 1]]
    assert [step[1] for step in later] == [0, 0, 0, 1]
    assert [step[2] for step in later] == [False, False, False, True]


def test_locks_refuse_a_masked_door():
    env = LocksEnv()
    seen, _ = env.reset(seed=0)
    assert seen["action_mask"].sum() == 4
    assert seen["action_mask"][np.argmax(seen["wish"])] == 1
    assert env.step(int(np.argmax(seen["wish"])))[1] == 1
    env.reset(seed=0)
    with pytest.raises(EnvError, match="is locked"):
        env.step(int(np.argmin(seen["action_mask"])))
    assert "action_mask" not in LocksEnv(masked=False).observation_space.spaces


def test_the_table_belongs_to_the_env_and_not_to_the_episode():
    env = TableEnv()
    assert sorted(set(env.right)) == [0, 1, 2, 3]
    assert (TableEnv().right == env.right).all()
    assert (TableEnv(table_seed=1).right != env.right).any()
    first, _ = env.reset(seed=1)
    states, steps = [first], []
    for _ in range(20):
        steps.append(env.step(env.right[states[-1]]))
        states.append(steps[-1][0])
    assert [step[1] for step in steps] == [1] * 20
    assert [step[2:4] for step in steps] == [(False, False)] * 19 + [(False, True)]
    assert len(set(states)) > 10
    assert env.reset(seed=1)[0] == first
    assert env.step((env.right[first] + 1) % 4)[1] == 0


class Knower:
    def __init__(self, right):
        self.right = right

    def begin(self, episode_seed=0):
        pass

    def __call__(self, rows):
        return self.right[int(rows["obs"])]


def test_the_table_is_solved_by_heart_and_by_nothing_else():
    task = TASKS["table"]
    assert play(Knower(TableEnv().right), task.spec(), task) == 20
    assert play(Guesser(), task.spec(), task) == pytest.approx(5, abs=2)
    assert verdict(task, {"ours": scores(19.5, 19.6)}) == []
    assert verdict(task, {"ours": scores(18.9, 18.9)}) == ["18.900 is below the wanted 19"]


class Rememberer:
    def begin(self, episode_seed=0):
        self.sign = None

    def __call__(self, rows):
        if self.sign is None:
            self.sign = int(np.argmax(rows["obs"]))
        return self.sign


class Guesser:
    def begin(self, episode_seed=0):
        pass

    def __call__(self, rows):
        return 2


def test_recall_is_solved_by_memory_and_by_nothing_else():
    task = TASKS["memory"]
    threads = torch.get_num_threads()
    assert play(Rememberer(), task.spec(), task) == 1.0
    assert play(Guesser(), task.spec(), task) == pytest.approx(0.25, abs=0.08)
    assert torch.get_num_threads() == threads


def scores(*seeds):
    return {"mean": float(np.mean(seeds)), "std": float(np.std(seeds, ddof=1)), "seeds": list(seeds)}


def test_the_rule():
    task = TASKS["cartpole"]
    assert margin(task, scores(500, 500, 500), scores(500, 500, 500)) == 5  # a hundredth of 500
    assert margin(task, scores(480, 490, 500), scores(480, 490, 500)) == pytest.approx(2 * (2 * 100 / 3) ** 0.5)
    assert not verdict(task, {"ours": scores(496, 496, 496), "sb3": scores(500, 500, 500)})
    (fault,) = verdict(task, {"ours": scores(490, 490, 490), "sb3": scores(500, 500, 500)})
    assert "490.000 is below PPO's 500.000 beyond noise" in fault
    memory = TASKS["memory"]
    assert not verdict(memory, {"ours": scores(1, 1, 1), "without": scores(0.2, 0.25, 0.3)})
    assert len(verdict(memory, {"ours": scores(0.5, 0.5, 0.5), "without": scores(0.9, 0.9, 0.9)})) == 2


def test_both_trainers_play_an_env_that_looks_actions_up(tmp_path):
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra dev)")
    short = {"frozenlake": replace(TASKS["frozenlake"], episodes=1)}
    (lake,) = bench_learn(seeds=1, budget=0.02, table=short, say=quiet)["tasks"]
    assert lake["env_steps"] == 1024
    assert {lake["ours"]["mean"], lake["sb3"]["mean"]} <= {0.0, 1.0}


def test_a_short_run_of_everything_is_kept_and_not_run_again(tmp_path):
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra dev)")
    short = {"cartpole": replace(TASKS["cartpole"], episodes=3), "masked": replace(TASKS["masked"], episodes=3)}
    out = tmp_path / "learn.json"
    result = bench_learn(seeds=2, budget=0.02, out=out, table=short, say=quiet)
    assert [task["task"] for task in result["tasks"]] == ["cartpole", "masked"]
    cartpole, masked = result["tasks"]
    assert cartpole["env_steps"] == 2048
    assert cartpole["sb3"]["name"] == "PPO"
    assert len(cartpole["ours"]["seeds"]) == len(cartpole["sb3"]["seeds"]) == 2
    assert cartpole["published"]["mean"] == 500
    assert masked["without"]["changed"] == {"env_kwargs": {"masked": False}}
    assert masked["ours"]["mean"] > masked["without"]["mean"]
    json.dumps(result)
    said = []
    again = bench_learn(seeds=2, budget=0.02, out=out, table=short, say=said.append)
    assert again == result
    assert all("measured before" in line for line in said)
    changed = {"cartpole": replace(short["cartpole"], settings={**TASKS["cartpole"].settings, "gamma": 0.9})}
    said.clear()
    bench_learn(seeds=1, budget=0.02, out=out, table=changed, say=said.append)
    assert not any("measured before" in line for line in said), "other settings are another measurement"


def test_bad_input_is_told(tmp_path):
    with pytest.raises(SettingsError, match=r"no task 'cartpol'.*did you mean 'cartpole'"):
        bench_learn(["cartpol"])
    with pytest.raises(SettingsError, match="1 seed or more"):
        bench_learn(seeds=0)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(SettingsError, match="holds no results of bench learn"):
        bench_learn(out=tmp_path / "other.json")
    with pytest.raises(SettingsError, match="does not exist"):
        bench_learn(out=tmp_path / "nowhere" / "learn.json")


def test_a_task_without_a_peer_is_judged_by_its_thresholds_only():
    task = Task(env={}, settings={}, env_steps=1, reach=1, peer=None)
    assert not peer_installed(task)
    assert not verdict(task, {"ours": scores(0, 0)})
