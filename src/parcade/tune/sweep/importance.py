"""How much each setting matters: Optuna's PED-ANOVA over the ranks of the trials."""

from __future__ import annotations

import warnings
from typing import Any

from parcade.tune.sweep.journal import load_optuna
from parcade.tune.sweep.outcome import Outcome
from parcade.tune.sweep.sampling import distribution

FEWEST = 6  # trials that tell anything


def importance(outcome: Outcome) -> dict[str, float]:
    """Return a share for each setting, in all 1; empty where the trials are too few to tell.

    The evaluator asks what sets the best trials apart from all. It needs an order of the trials and no values, so
    trials that paused at a rung count too, behind those that came to the end.
    """
    ranked = [trial for trial in outcome.ranked() if trial.state == "complete" or trial.scores]
    if len(ranked) < FEWEST:
        return {}
    optuna, ranges = load_optuna(), {one.name: one for one in outcome.sweep.plan.ranges}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study()
        for place, trial in enumerate(ranked):
            study.add_trial(
                optuna.trial.create_trial(
                    value=float(place),
                    params={name: ranges[name].label(value) for name, value in trial.point.items()},
                    distributions={name: distribution(ranges[name]) for name in trial.point},
                )
            )
        share = min(0.5, max(0.1, 5 / len(ranked)))
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=share)
        found: dict[str, Any] = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(value) for name, value in found.items()}
