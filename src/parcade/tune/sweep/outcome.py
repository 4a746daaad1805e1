"""What a sweep comes to: the best config file, a table, and one line of JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.run.atomic import write_atomic
from parcade.tune.sweep.objective import Objective
from parcade.tune.sweep.plan import DEFAULTS
from parcade.tune.sweep.records import TrialRecord, best_trial, pareto
from parcade.tune.sweep.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trials of a sweep and what follows from them."""

    sweep: Sweep
    trials: list[TrialRecord]

    @property
    def objective(self) -> Objective:
        """What the sweep looked for."""
        return self.sweep.objective

    @property
    def best(self) -> TrialRecord | None:
        """The best complete trial."""
        return best_trial(self.trials, self.objective.goal == "maximize")

    @property
    def defaults(self) -> TrialRecord | None:
        """The trial with the settings that a training has by itself, where the file asks for one."""
        asked = [number for number, point in enumerate(self.sweep.plan.first) if point == DEFAULTS]
        return next((trial for trial in self.trials if trial.number in asked), None)

    @property
    def pareto(self) -> list[int]:
        """The trials that none beats in both value and seconds."""
        return pareto(self.trials, self.objective.goal == "maximize") if self.objective.wall_time else []

    def ranked(self) -> list[TrialRecord]:
        """Return the trials, the best first: complete ones by value, then those that came furthest."""
        sign = -1 if self.objective.goal == "maximize" else 1
        larger = -1 if self.objective.direction == "maximize" else 1

        def key(trial: TrialRecord) -> tuple[float, ...]:
            if trial.state == "complete" and not math.isnan(trial.values[0]):
                return 0, sign * trial.values[0], 0, trial.number
            rung = max(trial.scores, default=0)
            score = trial.scores.get(rung, math.nan)
            return 1 + (trial.state == "failed"), -rung, 0 if math.isnan(score) else larger * score, trial.number

        return sorted(self.trials, key=key)

    def count(self, state: str) -> int:
        """Return how many trials are in a state."""
        return sum(trial.state == state for trial in self.trials)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        best, defaults = self.best, self.defaults
        return {
            "name": self.sweep.plan.name,
            "folder": str(self.sweep.folder),
            "objective": self.objective.words,
            "n_trials": len(self.trials),
            **{state.replace(" ", "_"): self.count(state) for state in ("complete", "paused", "failed", "under way")},
            "best": None if best is None else {**_told(best), "run_dir": str(self.sweep.path_of(best.number))},
            "defaults": None if defaults is None else _told(defaults),
            "pareto": [number + 1 for number in self.pareto],
            "trials": [_told(trial) for trial in self.trials],
        }

    def best_config(self) -> str | None:
        """Return the best trial's settings as a config file for ``parcade train``."""
        best = self.best
        if best is None:
            return None
        given = {**self.sweep.given_of(best.point)}
        for name in ("eval_freq", "final_eval_episodes", "video"):  # switched off for trials only
            if name not in self.sweep.plan.fixed:
                given.pop(name, None)
        lines = [
            f"# The best of {len(self.trials)} trials of the sweep {self.sweep.plan.name}: trial {best.number + 1},",
            f"# {self.objective.words}: {best.values[0]:,.6g}",
            *(f"{name}: {yaml_value(value)}" for name, value in given.items() if value is not None),
        ]
        return "\n".join(lines) + "\n"

    def write_best(self) -> Path | None:
        """Write best.yaml; None where no trial is complete."""
        text = self.best_config()
        if text is None:
            return None
        path = self.sweep.folder / "best.yaml"
        write_atomic(path, text.encode())
        return path


def yaml_value(value: Any) -> str:
    """Return a value as YAML reads it back: JSON, with a point in every float.

    >>> yaml_value(1e-05), yaml_value([64, 64]), yaml_value("lantern")
    ('1.0e-05', '[64, 64]', '"lantern"')
    """
    if isinstance(value, float) and "e" in repr(value):
        digits, _, power = repr(value).partition("e")
        return f"{digits if '.' in digits else digits + '.0'}e{power}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {yaml_value(part)}" for key, part in value.items()) + "}"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _told(trial: TrialRecord) -> dict[str, Any]:
    values = [None if math.isnan(value) else value for value in trial.values]
    return {
        "trial": trial.number + 1,
        "state": trial.state,
        "values": values,
        "reached": trial.reached,
        "env_steps": trial.env_steps or max(trial.scores, default=0),
        "seconds": None if math.isnan(trial.seconds) else trial.seconds,
        "settings": trial.point,
        "scores": {str(rung): None if math.isnan(score) else score for rung, score in trial.scores.items()},
        **({"reason": trial.reason} if trial.reason else {}),
    }
