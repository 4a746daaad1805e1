"""How far a sweep is, in words: trial n of N, the best so far, the time left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from parcade.run.curves import duration, short
from parcade.tune.sweep.job import TrialNews
from parcade.tune.sweep.records import TrialRecord, best_trial
from parcade.tune.sweep.sweep import Sweep


@dataclass
class SweepStatus:
    """Follows the news of one command's jobs."""

    sweep: Sweep
    seconds: float | None = None  # of the budget
    started_s: float = field(default_factory=time.monotonic)
    under_way: dict[int, dict[str, Any]] = field(default_factory=dict)  # the last row of each trial
    trials: list[TrialRecord] = field(default_factory=list)
    _done_before: float | None = None

    def hear(self, news: TrialNews) -> str | None:
        """Take news in; return a line worth saying."""
        if news.kind in ("begun", "resumed"):
            self.under_way[news.number] = {}
            self.refresh()
            how = "begins" if news.kind == "begun" else "goes on"
            return f"{self.place(news.number)} {how}: {self.point(news.number)}"
        if news.kind == "row" and news.row is not None:
            self.under_way[news.number] = news.row
            return None
        if news.kind == "said":
            return news.text if news.number < 0 else f"{self.place(news.number)}: {news.text}"
        if news.kind == "error":
            return None
        self.under_way.pop(news.number, None)
        self.refresh()
        trial = self.trials[news.number]
        return f"{self.place(news.number)} {self._ended(news, trial)}"

    def refresh(self) -> None:
        """Read the storage: jobs of other commands write there too."""
        self.trials = self.sweep.trials()
        if self._done_before is None:
            self._done_before = self._done()

    def _ended(self, news: TrialNews, trial: TrialRecord) -> str:
        if news.kind == "rung":
            # By now another command may have taken the trial on, to a target that has no score yet.
            score = short(trial.scores[max(trial.scores)])
            return f"pauses at {trial.env_steps:,} env steps: {self.sweep.objective.metric} {score}"
        if news.kind == "failed":
            return f"cannot be trained: {news.text}"
        if news.kind == "stopped":
            return "is stopped; it goes on from its checkpoint"
        value = f"{self.sweep.objective.words}: {self.said(trial)}"
        return f"ends, {value}"

    def said(self, trial: TrialRecord) -> str:
        """Return a complete trial's first value in words."""
        missed = self.sweep.objective.reach is not None and not trial.reached
        return f"not within {trial.env_steps:,}" if missed else f"{trial.values[0]:,.6g}"

    def place(self, number: int) -> str:
        """Return which trial of how many."""
        of = f" of {self.sweep.n_trials}" if self.sweep.n_trials else ""
        return f"trial {number + 1}{of}"

    def point(self, number: int) -> str:
        """Return a trial's settings in words."""
        point = self.trials[number].point
        return ", ".join(f"{name} {_said(value)}" for name, value in point.items())

    def line(self) -> str:
        """Return the whole state in a line."""
        parts = [self._now(), self._best(), self._left()]
        return " | ".join(part for part in parts if part)

    def _now(self) -> str:
        metric, told = self.sweep.objective.metric, []
        for number, row in sorted(self.under_way.items()):
            value = self.sweep.objective.metric_of(row) if row else None
            steps = f" step {row['env_steps']:,}" if row else " starting"
            told.append(f"{self.place(number)}{steps}" + ("" if value is None else f" {metric} {short(value)}"))
        return ", ".join(told)

    def _best(self) -> str:
        best = best_trial(self.trials, self.sweep.objective.goal == "maximize")
        return "no best yet" if best is None else f"best {self.said(best)} (trial {best.number + 1})"

    def _done(self) -> float:
        """Return how many trials' worth of work is done."""
        share: float = sum(row.get("env_steps", 0) / self.sweep.ladder.total for row in self.under_way.values() if row)
        return sum(trial.state != "under way" for trial in self.trials) + min(share, len(self.under_way))

    def left_s(self) -> float | None:
        """Return an estimate of the seconds left; None where nothing is known yet."""
        passed, known = time.monotonic() - self.started_s, []
        if self.seconds is not None:
            known.append(max(0.0, self.seconds - passed))
        done = self._done() - (self._done_before or 0.0)
        if self.sweep.n_trials and done > 0.05:
            known.append(passed / done * max(0.0, self.sweep.n_trials - self._done()))
        return min(known) if known else None

    def _left(self) -> str:
        left = self.left_s()
        return "" if left is None else f"{duration(left)} left"


def _said(value: Any) -> str:
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else "×".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )
