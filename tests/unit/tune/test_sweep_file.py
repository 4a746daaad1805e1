"""The sweep file: what it may say, and one sentence for everything it may not."""

import json
from pathlib import Path

import pytest

from parcade.errors import SettingsError
from parcade.tune.sweep.file import read_sweep
from parcade.tune.sweep.plan import differing
from parcade.tune.sweep.sampling import grid_points
from parcade.tune.sweep.sweep import Sweep

WHOLE = """
name: all of it
fixed: {game: lantern, timesteps: 100k, game_options: {way: true}}
settings:
  learning_rate: {float: [1e-4, 1e-2], log: true}
  gamma: {float: [0.9, 1.0], step: 0.05}
  n_epochs: {int: [2, 8], step: 2}
  hidden: [[32, 32], null]
  algorithm: {choice: [ppo, cloning]}
  clone_updates: {int: [1, 20], log: true, when: {algorithm: cloning, n_epochs: [2, 4]}}
  game_options.floors: {choice: [1, 2]}
objective: {metric: eval/mean_reward, direction: maximize, wall_time: true}
pruning: {halving: {first: 20k, factor: 4}}
sampler: {kind: random, seed: 3}
first: [defaults, {gamma: 0.95, learning_rate: 1e-3}]
budget: {n_trials: 20, minutes: 1.5}
"""
SMALL = """
fixed: {env_id: CartPole-v1}
settings: {gamma: {float: [0.9, 0.99]}}
objective: rollout/ep_rew_mean
budget: {n_trials: 2}
"""


def read(tmp_path, text, **flags):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return read_sweep(str(path), flags)


def test_everything_a_file_may_say(tmp_path):
    plan = read(tmp_path, WHOLE, seed=5)
    ranges = {one.name: one for one in plan.ranges}
    assert (plan.name, plan.n_trials, plan.minutes, plan.sampler, plan.seed) == ("all of it", 20, 1.5, "random", 3)
    assert plan.fixed == {"game": "lantern", "total_timesteps": "100k", "game_options": {"way": True}, "seed": 5}
    assert (ranges["learning_rate"].low, ranges["learning_rate"].log) == (1e-4, True)
    assert ranges["n_epochs"].grid() == (2, 4, 6, 8)
    assert ranges["hidden"].choices == ([32, 32], None)
    assert ranges["clone_updates"].counts({"algorithm": "cloning", "n_epochs": 4})
    assert not ranges["clone_updates"].counts({"algorithm": "cloning", "n_epochs": 6})
    assert plan.objective.directions == ["maximize", "minimize"]
    assert plan.halving.rungs(400_000) == [20_000, 80_000, 320_000]
    assert plan.first == ("defaults", {"gamma": 0.95, "learning_rate": 1e-3})
    point = {"game_options.floors": 2, "gamma": 0.95}
    assert plan.settings(point)["game_options"] == {"way": True, "floors": 2}


def test_trials_evaluate_only_for_an_objective_that_needs_it(tmp_path):
    assert "final_eval_episodes" not in read(tmp_path, WHOLE).given
    assert read(tmp_path, SMALL).given["final_eval_episodes"] == 0
    given = read(tmp_path, SMALL.replace("CartPole-v1}", "CartPole-v1, eval_freq: 5}")).given
    assert (given["eval_freq"], given["video"]) == (5, False)


def test_a_json_file_is_as_good(tmp_path):
    path = tmp_path / "mine.json"
    data = {"fixed": {}, "settings": {"gamma": {"float": [0.9, 0.99]}}, "objective": "rollout/ep_rew_mean"}
    path.write_text(json.dumps({**data, "budget": {"minutes": 3}}))
    assert read_sweep(str(path), {}).minutes == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("gamma:", "gama:", "unknown setting 'gama' (did you mean 'gamma'?)"),
        ("gamma:", "lr:", "unknown setting 'lr' (did you mean 'learning_rate'?)"),
        ("{float: [0.9, 0.99]}", "{float: [0.99, 0.9]}", "gamma has an empty range: 0.99 to 0.9"),
        ("{float: [0.9, 0.99]}", "{float: [0.9, 0.9]}", "gamma has an empty range"),
        ("{float: [0.9, 0.99]}", "{choice: []}", "gamma has an empty range"),
        ("{float: [0.9, 0.99]}", "[0.9]", "gamma has an empty range"),
        ("{float: [0.9, 0.99]}", "[0.9, 0.9]", "gamma has a choice twice"),
        ("{float: [0.9, 0.99]}", "{float: [0.9, 1.5]}", "gamma is 1.5, wanted 1 or less"),
        ("{float: [0.9, 0.99]}", "{float: [0, 0.9], log: true}", "wanted log: true and more than 0"),
        ("{float: [0.9, 0.99]}", "{float: [0.9]}", "wanted [lowest, highest]"),
        ("{float: [0.9, 0.99]}", "{float: [0.9, high]}", "'high' is no number"),
        ("{float: [0.9, 0.99]}", "{flaot: [0.9, 0.99]}", "the unknown key 'flaot'"),
        ("{float: [0.9, 0.99]}", "0.9", "single values go to fixed"),
        ("{float: [0.9, 0.99]}", "{float: [0.9, 0.99], when: {lstm: 64}}", "when names 'lstm'"),
        ("settings: {gamma: {float: [0.9, 0.99]}}", "", "it names no settings with ranges"),
        ("{env_id: CartPole-v1}", "{env_id: CartPole-v1, gamma: 0.9}", "gamma has a range and a fixed value"),
        (
            "{env_id: CartPole-v1}",
            "{env_id: CartPole-v1, n_env: 4}",
            "unknown setting 'n_env' (did you mean 'n_envs'?)",
        ),
        ("{env_id: CartPole-v1}", "{run_name: mine}", "run_name is the sweep's name's business"),
        ("gamma:", "n_workers:", "n_workers changes no result"),
        ("gamma:", "gamma.x:", "gamma has no parts"),
        ("rollout/ep_rew_mean", "{metric: reward}", "objective.metric is 'reward'"),
        ("rollout/ep_rew_mean", "{metric: eval/x, cost: seconds}", "add reach"),
        ("rollout/ep_rew_mean", "{metric: eval/x, goal: 3}", "unknown key objective.goal"),
        ("rollout/ep_rew_mean", "{metric: eval/x, direction: up}", "wanted 'maximize' or 'minimize'"),
        ("objective: rollout/ep_rew_mean", "", "objective is missing"),
        ("budget: {n_trials: 2}", "", "budget is missing"),
        ("{n_trials: 2}", "{n_trials: 0}", "budget.n_trials is 0, wanted a whole number from 1 on"),
        ("{n_trials: 2}", "{trials: 2}", "unknown key budget.trials (did you mean 'n_trials'?)"),
        ("budget:", "sampler: bayes\nbudget:", "sampler is 'bayes', wanted tpe, random or grid"),
        ("budget:", "sampler: grid\nbudget:", "gamma has endless values, wanted step or points"),
        ("budget:", "first: [{gamma: 0.5}]\nbudget:", "first has gamma 0.5, which is outside of its range"),
        ("budget:", "pruning: {halving: 3}\nbudget:", "wanted {first: ENV_STEPS, factor: 3}"),
        ("budget:", "prunning: {}\nbudget:", "unknown key 'prunning' (did you mean 'pruning'?)"),
        ("fixed:", "name: a/b\nfixed:", "name is 'a/b', wanted the name of a folder"),
    ],
)
def test_a_fault_is_one_sentence(tmp_path, old, new, told):
    assert old in SMALL
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, SMALL.replace(old, new))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_faults_are_told_together(tmp_path):
    text = SMALL.replace("gamma: {float: [0.9, 0.99]}", "gama: [1, 2], gamma: {float: [2, 1]}")
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert "gama" in str(caught.value)
    assert "empty range" in str(caught.value)


def test_a_condition_that_never_holds_is_a_fault(tmp_path):
    text = SMALL.replace("{gamma: {", "{n_epochs: {int: [1, 4]}, gamma: {when: {n_epochs: 9}, ")
    with pytest.raises(SettingsError, match="n_epochs is never 9"):
        read(tmp_path, text)


def test_a_grid_has_each_combination_that_differs_once(tmp_path):
    text = """
settings:
  n_epochs: {int: [1, 3]}
  gamma: {float: [0.9, 0.99], points: 3, when: {n_epochs: [2, 3]}}
objective: rollout/ep_rew_mean
sampler: grid
"""
    points = grid_points(read(tmp_path, text))
    assert len(points) == 1 + 2 * 3
    assert {"n_epochs": 1} in points
    assert {"n_epochs": 3, "gamma": 0.945} in points
    assert points == grid_points(read(tmp_path, text))


def test_what_differs_between_two_sweeps_is_named(tmp_path):
    ours = read(tmp_path, SMALL).content
    theirs = read(tmp_path, SMALL.replace("0.9,", "0.8,")).content
    more = read(tmp_path, SMALL.replace("n_trials: 2", "n_trials: 9, minutes: 2")).content
    assert ours == more  # a sweep can be given more trials
    assert differing(ours, theirs) == "ranges.gamma.low is 0.8 there and 0.9 here"
    other = read(tmp_path, SMALL.replace("CartPole-v1", "Acrobot-v1")).content
    assert differing(ours, other) == 'fixed.env_id is "Acrobot-v1" there and "CartPole-v1" here'


def test_the_file_of_the_docs_is_a_sweep(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "sweep.md").read_text()
    path = tmp_path / "doc.yaml"
    path.write_text(text.partition("```yaml\n")[2].partition("```")[0])
    sweep = Sweep(read_sweep(str(path), {}), tmp_path / "sweep")
    assert sweep.n_trials == 20
    (tmp_path / "other.yaml").write_text(path.read_text().replace("n_epochs: {int: [2, 8]}", "n_epochs: {int: [2, 9]}"))
    with pytest.raises(SettingsError, match=r"holds another sweep: ranges\.n_epochs\..* is 8 there and 9 here"):
        Sweep(read_sweep(str(tmp_path / "other.yaml"), {}), tmp_path / "sweep")
