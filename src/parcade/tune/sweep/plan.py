"""A sweep as data: what its file says, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from parcade.tune.sweep.objective import Objective
from parcade.tune.sweep.ranges import Range

Sampler = Literal["tpe", "random", "grid"]
DEFAULTS = "defaults"  # a first trial with the settings a training has by itself
# What a trial is trained with unless the file says otherwise: nothing that costs time and changes no number.
QUIET = {"video": False}
NO_EVALUATIONS = {"eval_freq": 0, "final_eval_episodes": 0}


@dataclass(frozen=True, slots=True)
class Halving:
    """Successive halving: at ``first``, ``first * factor``, … env steps one of ``factor`` trials goes on."""

    first: int
    factor: int = 3

    def rungs(self, total: int) -> list[int]:
        """Return the env steps at which trials pause."""
        found, rung = [], self.first
        while rung < total:
            found.append(rung)
            rung *= self.factor
        return found


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep tries, what it looks for, and when it ends."""

    name: str
    fixed: dict[str, Any]
    ranges: tuple[Range, ...]
    objective: Objective
    sampler: Sampler = "tpe"
    seed: int = 0
    startup: int = 10
    halving: Halving | None = None
    first: tuple[Any, ...] = ()
    n_trials: int | None = None
    minutes: float | None = None

    @property
    def content(self) -> dict[str, Any]:
        """Everything that decides a trial's results, as JSON-ready data: not how many trials there are."""
        data = asdict(replace(self, n_trials=None, minutes=None))
        return dict(json.loads(json.dumps(data)))

    @property
    def given(self) -> dict[str, Any]:
        """The settings that all trials have, as a config file would hold them."""
        quiet = QUIET if self.objective.metric.startswith("eval/") else QUIET | NO_EVALUATIONS
        return {**quiet, **self.fixed}

    def settings(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a trial as a config file would hold them; dots lead into settings with keys."""
        merged = {**self.given}
        for name, value in point.items():
            top, dot, key = name.partition(".")
            merged[top] = {**merged.get(top, {}), key: value} if dot else value
        return merged


def differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return in words where two contents differ first."""
    for key in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(key), theirs.get(key)
        if one != other and isinstance(one, dict) and isinstance(other, dict):
            return f"{key}.{differing(one, other)}"
        if one != other and _are_named(one) and _are_named(other):
            return f"{key}.{differing(_by_name(one or []), _by_name(other or []))}"
        if one != other:
            return f"{key} is {_short(other)} there and {_short(one)} here"
    return "they are the same"


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, dict) and "name" in part for part in value)


def _by_name(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {part["name"]: part for part in parts}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"
