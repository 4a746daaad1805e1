"""The next trial's settings, as a function of the sweep's seed, the trial's number and what the storage holds.

No sampler lives longer than one trial: a sweep that is killed and started again asks the same questions.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from parcade.tune.sweep.journal import load_optuna
from parcade.tune.sweep.plan import DEFAULTS, SweepPlan
from parcade.tune.sweep.ranges import Range
from parcade.tune.sweep.records import TrialRecord


def distribution(one: Range) -> Any:
    """Return a range as a distribution of Optuna's."""
    kinds = load_optuna().distributions
    if one.kind == "choice":
        return kinds.CategoricalDistribution([one.label(choice) for choice in one.choices])
    if one.kind == "int":
        return kinds.IntDistribution(int(one.low), int(one.high), log=one.log, step=int(one.step or 1))
    return kinds.FloatDistribution(one.low, one.high, log=one.log, step=one.step)


def next_point(
    plan: SweepPlan, number: int, trials: Sequence[TrialRecord], defaults: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the settings of trial ``number``; None where a grid has no more. ``defaults`` are a training's own."""
    if number < len(plan.first):
        return first_point(plan, number, defaults)
    if plan.sampler == "grid":
        points = grid_points(plan)
        index = number - len(plan.first)
        return points[index] if index < len(points) else None
    return _sampled(plan, number, trials)


def first_point(plan: SweepPlan, number: int, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial that the sweep file asks for by its settings; what it leaves out is as in any training."""
    said = plan.first[number]
    return _counting(plan, {**defaults, **({} if said == DEFAULTS else said)})


def grid_points(plan: SweepPlan) -> list[dict[str, Any]]:
    """Return every combination that differs, in an order of the seed's: a budget that ends early has seen all parts."""
    names = [one.name for one in plan.ranges]
    every = itertools.product(*(one.grid() or () for one in plan.ranges))
    points = [_counting(plan, dict(zip(names, values, strict=True))) for values in every]
    firsts = [point for index, point in enumerate(points) if point not in points[:index]]
    random.Random(plan.seed).shuffle(firsts)
    return firsts


def _counting(plan: SweepPlan, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a point that counts."""
    found: dict[str, Any] = {}
    for one in plan.ranges:
        if one.counts(found):
            found[one.name] = point[one.name]
    return found


def _sampled(plan: SweepPlan, number: int, trials: Sequence[TrialRecord]) -> dict[str, Any]:
    optuna = load_optuna()
    seed = int.from_bytes(hashlib.sha256(f"{plan.seed}/{number}".encode()).digest()[:4], "big")
    sampler: Any = (
        optuna.samplers.RandomSampler(seed=seed)
        if plan.sampler == "random"
        else optuna.samplers.TPESampler(seed=seed, n_startup_trials=plan.startup)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=sampler, directions=plan.objective.directions)
        study.add_trials([_seen(plan, trial) for trial in trials])
        trial = study.ask()
        found: dict[str, Any] = {}
        for one in plan.ranges:
            if one.counts(found):
                found[one.name] = one.value(_suggested(trial, one))
    return found


def _suggested(trial: Any, one: Range) -> Any:
    if one.kind == "choice":
        return trial.suggest_categorical(one.name, [one.label(choice) for choice in one.choices])
    if one.kind == "int":
        return trial.suggest_int(one.name, int(one.low), int(one.high), log=one.log, step=int(one.step or 1))
    return trial.suggest_float(one.name, one.low, one.high, log=one.log, step=one.step)


def _seen(plan: SweepPlan, trial: TrialRecord) -> Any:
    """Return a trial as the sampler is to see it: one that waits at a rung counts as pruned, until it goes on."""
    optuna = load_optuna()
    states, objective = optuna.trial.TrialState, plan.objective
    ranges = {one.name: one for one in plan.ranges if one.name in trial.point}
    state, values, scores = states.RUNNING, None, {}
    if trial.state == "complete" and not any(map(math.isnan, trial.values)):
        state, values = states.COMPLETE, list(trial.values)
    elif trial.state in ("complete", "failed"):
        state = states.FAIL
    elif trial.scores and not objective.wall_time:  # Optuna prunes with a single objective only
        state = states.PRUNED
        sign = 1 if objective.goal == objective.direction else -1
        scores = {rung: sign * score for rung, score in trial.scores.items()}
    return optuna.trial.create_trial(
        state=state,
        values=values,
        params={name: one.label(trial.point[name]) for name, one in ranges.items()},
        distributions={name: distribution(one) for name, one in ranges.items()},
        intermediate_values=scores,
    )
