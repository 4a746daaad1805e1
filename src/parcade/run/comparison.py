"""Runs side by side: grouped by their settings, seeds of one group together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parcade.errors import SettingsError, did_you_mean
from parcade.run.flat_settings import flat_settings
from parcade.run.listing import read_run, rows_of
from parcade.run.metrics import tensorboard_values
from parcade.run.statistics import Floats, Interval, bands, improvement, interval

EVALUATED, TRAINED = "eval/mean_reward", "rollout/ep_rew_mean"
POINTS = 120  # of a curve
MOST_IN_LABEL = 3
# Settings that change no number that a run learns, or that tell its runs apart.
NOT_COMPARED = {
    *(
        "seed",
        "run_name",
        "log_root",
        "n_workers",
        "learners",
        "parallel_start_method",
        "worker_restarts",
        "step_deadline_s",
    ),
    *("pin_workers", "worker_memory_mb", "save_freq", "keep_checkpoints", "keep_models", "video", "track"),
    *("track_project", "num_threads", "n_eval_episodes", "eval_minutes"),
}


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run: its settings, and every curve of it by TensorBoard's names."""

    path: Path
    settings: dict[str, Any]
    curves: dict[str, tuple[Floats, Floats]]  # env steps and values; none before the first row
    seconds: float

    def score(self, metric: str) -> float:
        """Return the last value of a metric; NaN where the run has none."""
        return float(self.curves[metric][1][-1]) if metric in self.curves else math.nan


@dataclass(frozen=True, slots=True)
class Group:
    """Runs with the same settings but for their seeds."""

    label: str
    runs: tuple[ComparedRun, ...]
    scores: Floats
    score: Interval

    @property
    def env_steps(self) -> int:
        """Steps that all of its runs have."""
        return int(min(max(xs[-1] for xs, _ in run.curves.values()) for run in self.runs))

    def curve(self, metric: str) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Return env steps, interquartile mean and both ends of the interval; None where a run has no such curve."""
        if not all(metric in run.curves for run in self.runs):
            return None
        found = [run.curves[metric] for run in self.runs]
        first, last = max(xs[0] for xs, _ in found), min(xs[-1] for xs, _ in found)
        xs = np.linspace(first, max(first, last), min(POINTS, max(len(x) for x, _ in found)))
        return xs, *bands(np.array([np.interp(xs, x, y) for x, y in found]))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a table or a page of runs says."""

    metric: str
    groups: tuple[Group, ...]
    differences: dict[str, list[Any]]  # setting -> its value in each group
    left_out: tuple[Path, ...] = ()  # runs without the metric

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "metric": self.metric,
            "groups": [
                {
                    "label": group.label,
                    "runs": [str(run.path) for run in group.runs],
                    "seeds": [run.settings.get("seed") for run in group.runs],
                    "env_steps": group.env_steps,
                    "scores": group.scores.tolist(),
                    "iqm": group.score.value,
                    "low": group.score.low if len(group.runs) > 1 else None,  # one seed has no interval
                    "high": group.score.high if len(group.runs) > 1 else None,
                    "seconds": float(np.mean([run.seconds for run in group.runs])),
                }
                for group in self.groups
            ],
            "differences": self.differences,
            "left_out": [str(path) for path in self.left_out],
            "improvement": [
                {"of": group.label, "over": self.groups[0].label, **won._asdict()}
                for group, won in zip(self.groups[1:], self.improvements, strict=True)
            ],
        }

    @property
    def improvements(self) -> list[Interval]:
        """How probable it is that a run of each later group beats one of the first."""
        return [improvement(group.scores, self.groups[0].scores) for group in self.groups[1:]]


def compare(paths: Sequence[Path], metric: str | None = None) -> Comparison:
    """Read runs and group them; ``metric`` is a name of TensorBoard's, or None for the return."""
    runs = [_read(path) for path in dict.fromkeys(path.resolve() for path in paths)]
    begun = [run for run in runs if run.curves]
    if not begun:
        raise SettingsError(f"no run has rows in metrics.jsonl yet, not even {runs[0].path}; compare them later")
    metric = _metric(begun, metric)
    left_out = tuple(run.path for run in runs if metric not in run.curves)
    runs = [run for run in runs if metric in run.curves]
    if not runs:
        raise SettingsError(f"no run has {metric}, not even {left_out[0]}; choose another --metric")
    grouped: dict[str, list[ComparedRun]] = {}
    for run in runs:
        grouped.setdefault(repr(sorted(_compared(run.settings).items())), []).append(run)
    groups = [tuple(sorted(found, key=_seed)) for found in grouped.values()]
    differences = _differences([found[0] for found in groups])
    return Comparison(
        metric,
        tuple(
            _group(_label(index, found, differences, len(groups)), found, metric) for index, found in enumerate(groups)
        ),
        differences,
        left_out,
    )


def _read(path: Path) -> ComparedRun:
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows_of(path):
        env_steps = row.get("env_steps")
        if isinstance(env_steps, int):
            for name, value in tensorboard_values(row, ()).items():
                if math.isfinite(value):
                    points.setdefault(name, []).append((env_steps, value))
    curves = {name: tuple(np.array(found, np.float64).T) for name, found in points.items()}
    info = read_run(path)
    return ComparedRun(path, info.settings, curves, info.seconds)


def _metric(runs: Sequence[ComparedRun], wanted: str | None) -> str:
    known = list(dict.fromkeys(name for run in runs for name in run.curves))
    if wanted is None:
        return EVALUATED if all(EVALUATED in run.curves for run in runs) else TRAINED
    if wanted not in known:
        raise SettingsError(
            f"no run has the metric {wanted!r}{did_you_mean(wanted, known)}; they have {', '.join(known)}"
        )
    return wanted


def _compared(settings: dict[str, Any]) -> dict[str, Any]:
    return flat_settings({name: value for name, value in settings.items() if name not in NOT_COMPARED})


def _differences(firsts: Sequence[ComparedRun]) -> dict[str, list[Any]]:
    all_settings = [_compared(run.settings) for run in firsts]
    names = dict.fromkeys(name for settings in all_settings for name in settings)
    found = {name: [settings.get(name) for settings in all_settings] for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


def _label(index: int, runs: Sequence[ComparedRun], differences: dict[str, list[Any]], n_groups: int) -> str:
    """Return what tells a group from the others: the settings that differ, or its name."""
    if n_groups == 1 or len(differences) > MOST_IN_LABEL:
        name = runs[0].path.parent.name
        return name if n_groups == 1 else f"{chr(65 + index % 26)} {name}"
    return ", ".join(
        f"{name}={'–' if values[index] is None else values[index]}" for name, values in differences.items()
    )


def _seed(run: ComparedRun) -> tuple[int, str]:
    seed = run.settings.get("seed")
    return (seed if isinstance(seed, int) else 0, str(run.path))


def _group(label: str, runs: tuple[ComparedRun, ...], metric: str) -> Group:
    scores = np.array([run.score(metric) for run in runs])
    return Group(label, runs, scores, interval(scores))
