"""Trials as the storage knows them, and what is to be done next: pure functions, no process and no file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["under way", "paused", "complete", "failed"]


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial: its settings, how far it was told to go, and what it came to so far."""

    number: int
    point: dict[str, Any]  # the settings with ranges that count for it
    state: State = "under way"
    target: int = 0  # env steps it is to reach before it pauses; the whole training if that is no rung
    scores: dict[int, float] = field(default_factory=dict)  # the metric at each rung
    values: tuple[float, ...] = ()
    reason: str = ""  # of a failure
    env_steps: int = 0  # at the last pause, or at the end
    seconds: float = math.nan
    reached: bool = False
    claim: Literal["free", "taken", "dying"] = "free"  # by a job; dying: its sweep is dead, the job not yet


@dataclass(frozen=True, slots=True)
class Go:
    """Train a trial on until ``target`` env steps."""

    number: int
    target: int


@dataclass(frozen=True, slots=True)
class New:
    """Begin the trial with this number."""

    number: int
    target: int


Order = Go | New | Literal["wait", "done"]


@dataclass(frozen=True, slots=True)
class Ladder:
    """How far trials go: pauses at ``rungs``, the end at ``total``; one of ``factor`` passes a rung."""

    total: int
    rungs: tuple[int, ...] = ()
    factor: int = 3
    larger_is_better: bool = True
    n_whole: int = 0  # of the first trials are trained to the end: the others are to be compared with them

    def first_target(self, number: int) -> int:
        """Return where a new trial pauses, or ends."""
        return self.rungs[0] if self.rungs and number >= self.n_whole else self.total

    def above(self, rung: int) -> int:
        """Return the rung above one, or the end."""
        index = self.rungs.index(rung) + 1
        return self.rungs[index] if index < len(self.rungs) else self.total


def next_order(trials: Sequence[TrialRecord], ladder: Ladder, n_trials: int | None) -> Order:
    """Return what a free job does now; the same for the same trials, whoever asks.

    A trial that a killed job left comes first, then promotions from the highest rung down, then new trials. Where no
    trial is left to begin, the best of every rung goes on, so that one comes to the end.
    """
    left = [trial for trial in trials if trial.state == "under way" and trial.claim != "taken"]
    if any(trial.claim == "dying" for trial in left):
        return "wait"
    if left:
        return Go(left[0].number, left[0].target)
    promoted = _promotable(trials, ladder, at_least=0)
    if promoted is not None:
        return _once_free(promoted, trials)
    if n_trials is None or len(trials) < n_trials:
        return New(len(trials), ladder.first_target(len(trials)))
    if any(trial.state == "under way" for trial in trials):
        return "wait"
    best = _promotable(trials, ladder, at_least=1)
    return "done" if best is None else _once_free(best, trials)


def _once_free(order: Go, trials: Sequence[TrialRecord]) -> Order:
    """Return the order, or "wait" while the job that paused the trial still has it in its hands."""
    trial = next(trial for trial in trials if trial.number == order.number)
    return order if trial.claim == "free" else "wait"


def _promotable(trials: Sequence[TrialRecord], ladder: Ladder, at_least: int) -> Go | None:
    for rung in reversed(ladder.rungs):
        ranked = sorted((t for t in trials if _passed(t, rung)), key=lambda t: _rank(t, rung, ladder.larger_is_better))
        for trial in ranked[: max(at_least, len(ranked) // ladder.factor)]:
            if trial.state == "paused" and trial.target == rung:
                return Go(trial.number, ladder.above(rung))
    return None


def _passed(trial: TrialRecord, rung: int) -> bool:
    return rung in trial.scores or trial.state == "complete"


def _rank(trial: TrialRecord, rung: int, larger_is_better: bool) -> tuple[float, float, int]:
    """Return a key that sorts the best first: who reached the goal before the rung, then by the metric there."""
    score = trial.scores.get(rung)
    if score is None:  # complete before this rung
        return 0, trial.env_steps, trial.number
    if math.isnan(score):
        return 2, 0, trial.number
    return 1, -score if larger_is_better else score, trial.number


def best_trial(trials: Sequence[TrialRecord], larger_is_better: bool) -> TrialRecord | None:
    """Return the complete trial with the best first value; of equal ones the quickest, then the first."""
    complete = [trial for trial in trials if trial.state == "complete" and not math.isnan(trial.values[0])]
    sign = -1 if larger_is_better else 1
    return min(complete, key=lambda trial: (sign * trial.values[0], *trial.values[1:], trial.number), default=None)


def pareto(trials: Sequence[TrialRecord], larger_is_better: bool) -> list[int]:
    """Return the numbers of trials that no other beats in both values."""
    sign = -1 if larger_is_better else 1
    points = [
        (t.number, sign * t.values[0], t.values[1]) for t in trials if t.state == "complete" and len(t.values) == 2
    ]
    return [number for number, a, b in points if not any(x <= a and y <= b and (x, y) != (a, b) for _, x, y in points)]
