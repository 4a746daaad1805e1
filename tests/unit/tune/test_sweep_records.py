"""What a job does next, and what trials come to: decisions without a process."""

import math
from dataclasses import replace

import pytest

from parcade.tune.sweep.objective import Objective, rows_until
from parcade.tune.sweep.records import Go, Ladder, New, TrialRecord, best_trial, next_order, pareto

LADDER = Ladder(total=900, rungs=(100, 300), factor=3)


def score_of(number, steps):
    """Return how well a trial does: neither in the order of numbers nor the same at every rung."""
    return ((number * 7) % 11) + steps / 1000 + (number == 4) * (steps > 100) * 5


def played(ladder, n_trials, kill=lambda turn: False):
    """Work alone until nothing is left; return the orders and the trials. A kill loses what is under way."""
    trials, orders = [], []
    for turn in range(200):
        order = next_order(trials, ladder, n_trials)
        if order == "done":
            return orders, trials
        if isinstance(order, New):
            trials.append(TrialRecord(order.number, {}, target=order.target))
        number, target = order.number, order.target
        trials[number] = replace(trials[number], state="under way", target=target)
        if kill(turn):
            continue
        orders.append((number, target))
        if target == ladder.total:
            trials[number] = replace(trials[number], state="complete", values=(score_of(number, target),))
        else:
            scores = {**trials[number].scores, target: score_of(number, target)}
            trials[number] = replace(trials[number], state="paused", scores=scores)
    raise AssertionError("it does not end")


def test_without_rungs_trials_come_one_after_the_other():
    orders, trials = played(Ladder(900), 3)
    assert orders == [(0, 900), (1, 900), (2, 900)]
    assert {trial.state for trial in trials} == {"complete"}


def test_one_of_three_is_promoted_and_nothing_is_trained_twice():
    orders, _ = played(LADDER, 12)
    assert len(orders) == len(set(orders))
    at_rung = {rung: [number for number, target in orders if target == rung] for rung in (100, 300, 900)}
    assert at_rung[100] == list(range(12))
    assert len(at_rung[300]) >= 4
    assert 1 <= len(at_rung[900]) <= 2
    best = sorted(range(12), key=lambda number: -score_of(number, 100))[:4]
    assert set(best) <= set(at_rung[300])  # whoever is in the best third of all was promoted in the end


def test_somebody_comes_to_the_end_even_of_two_trials():
    orders, trials = played(LADDER, 2)
    assert [trial.state for trial in trials].count("complete") == 1
    assert orders[-1] == (1, 900)


@pytest.mark.parametrize("every", [2, 3, 5])
def test_kills_change_no_order(every):
    assert played(LADDER, 9, lambda turn: turn % every == 0) == played(LADDER, 9)


def test_what_others_train_is_left_to_them():
    taken = TrialRecord(0, {}, target=100, claim="taken")
    assert next_order([taken], LADDER, 1) == "wait"
    assert next_order([taken], LADDER, 2) == New(1, 100)
    assert next_order([replace(taken, claim="free")], LADDER, 2) == Go(0, 100)
    # a job whose sweep was just killed: to begin another trial now would change the order of trials
    assert next_order([replace(taken, claim="dying")], LADDER, 2) == "wait"


def test_a_paused_trial_is_taken_up_only_when_its_job_has_let_it_go():
    paused = TrialRecord(0, {}, state="paused", target=100, scores={100: 1.0}, claim="taken")
    assert next_order([paused], LADDER, 1) == "wait"
    assert next_order([replace(paused, claim="free")], LADDER, 1) == Go(0, 300)


def test_a_trial_that_reached_its_goal_stands_above_every_rung():
    done = TrialRecord(0, {}, state="complete", values=(50.0,), env_steps=50)
    waiting = [TrialRecord(n, {}, state="paused", target=100, scores={100: float(n)}) for n in (1, 2)]
    assert next_order([done, *waiting], LADDER, 4) == New(3, 100)  # one of three has passed: the one that is done
    more = [TrialRecord(n, {}, state="paused", target=100, scores={100: math.nan}) for n in (3, 4, 5)]
    assert next_order([done, *waiting, *more], LADDER, 7) == Go(2, 300)


def test_trials_that_the_file_asks_for_are_trained_whole():
    ladder = replace(LADDER, n_whole=1)
    assert next_order([], ladder, 3) == New(0, 900)
    whole = TrialRecord(0, {}, state="complete", values=(9.0,), scores={100: 2.0, 300: 3.0})
    others = [TrialRecord(n, {}, state="paused", target=100, scores={100: float(n)}) for n in (3, 1)]
    assert next_order([whole], ladder, 3) == New(1, 100)
    assert next_order([whole, *others], ladder, 3) == Go(3, 300)  # better than it was at that rung


def test_the_best_and_the_front():
    trials = [
        TrialRecord(number, {}, state="complete", values=values)
        for number, values in enumerate([(5.0, 9.0), (7.0, 4.0), (7.0, 3.0), (math.nan, 1.0), (1.0, 1.0)])
    ]
    assert best_trial(trials, True).number == 2
    assert best_trial(trials, False).number == 4
    assert pareto(trials[:3], True) == [2]
    assert pareto([*trials[:3], trials[4]], True) == [2, 4]
    assert best_trial([], True) is None


def row(env_steps, success, episodes=200, seconds=0.0):
    return {"env_steps": env_steps, "success_rate": success, "episodes": episodes, "time": {"seconds": seconds}}


def test_the_cost_of_success():
    objective = Objective("rollout/success_rate", reach=0.9)
    rows = [row(10, 0.95, episodes=5), row(20, 0.5), row(30, 0.9, seconds=3.5), row(40, 0.2)]
    assert not objective.is_reached(rows[0])  # the mean of five episodes says nothing
    assert objective.values(rows) == [30.0]
    assert Objective("rollout/success_rate", reach=0.9, cost="seconds").values(rows) == [3.5]
    assert Objective("rollout/success_rate", reach=0.9, wall_time=True).values(rows) == [30.0, 3.5]
    near, far, never = ([row(40, best)] for best in (0.8, 0.1, None))
    costs = [objective.values(rows)[0] for rows in (near, far, never)]
    assert 40 < costs[0] < costs[1] < costs[2] == 80
    low = Objective("rollout/ep_len_mean", direction="minimize", reach=50.0, min_episodes=0)
    assert low.values([{"env_steps": 8, "length_mean": 60.0}, {"env_steps": 16, "length_mean": 50.0}]) == [16.0]


def test_the_last_value_of_a_metric():
    objective = Objective("rollout/success_rate")
    assert objective.goal == "maximize"
    assert objective.values([row(10, 0.5), row(20, 0.7), row(30, None)]) == [0.7]
    assert objective.score([row(10, 0.5, episodes=99)]) == 0.5  # a whole training with no more episodes
    assert objective.score([row(10, 0.25, episodes=100), row(20, 0.5, episodes=99)]) == 0.25
    assert objective.rung_score([row(10, 0.5, episodes=99)]) == 0.5  # better than nothing to compare by
    final = {"env_steps": 9, "final": True, "eval": {"mean_reward": 7.0}}
    assert Objective("eval/mean_reward").values([row(9, 0.1), final]) == [7.0]


def test_a_metric_that_no_training_has_is_named():
    told = Objective("rollout/sucess_rate").missing([row(10, 0.5)])
    assert "did you mean 'rollout/success_rate'?" in told
    assert Objective("rollout/success_rate").missing([row(10, None)]) is None  # no episode has ended yet
    assert Objective("rollout/success_rate").missing([row(10, 0.5)]) is None


def test_rows_until_a_rung_are_the_same_however_many_follow():
    rows = [row(10, 0.1), row(20, 0.2), row(30, 0.3)]
    assert rows_until(rows, 15) == rows_until(rows[:2], 15) == rows[:2]
    assert rows_until(rows, 31) is None
