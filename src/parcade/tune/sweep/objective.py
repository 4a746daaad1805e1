"""What a sweep looks for, as functions of a run's rows: no clock, no file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from parcade.errors import did_you_mean
from parcade.run.metrics import WINDOW, tensorboard_values

Row = dict[str, Any]
Cost = Literal["env_steps", "seconds"]
Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class Objective:
    """The last value of a metric, or what it costs until the metric ``reach``es a value."""

    metric: str
    direction: Direction = "maximize"  # of the metric
    reach: float | None = None
    cost: Cost = "env_steps"
    min_episodes: int = WINDOW  # before a mean over training episodes counts
    wall_time: bool = False  # seconds of training as a second objective

    @property
    def goal(self) -> Direction:
        """Whether a trial's first value is to be large or small."""
        return self.direction if self.reach is None else "minimize"

    @property
    def directions(self) -> list[str]:
        """The direction of each of a trial's values."""
        return [self.goal, "minimize"] if self.wall_time else [self.goal]

    @property
    def words(self) -> str:
        """The objective in words, with its unit."""
        if self.reach is None:
            return f"{self.metric} at the end"
        unit = "env steps" if self.cost == "env_steps" else "seconds"
        return f"{unit} until {self.metric} is {self.reach:g}"

    def metric_of(self, row: Row) -> float | None:
        """Return the metric of one row, where it has one that counts."""
        is_mean = self.metric.startswith(("rollout/", "game/"))
        return None if is_mean and row.get("episodes", 0) < self.min_episodes else self.shown(row)

    def shown(self, row: Row) -> float | None:
        """Return the metric of one row, also where it is a mean of few episodes."""
        value = tensorboard_values(row, ()).get(self.metric)
        return value if value is not None and math.isfinite(value) else None

    def is_reached(self, row: Row) -> bool:
        """Return whether a row ends the search for ``reach``."""
        value = self.metric_of(row)
        if value is None or self.reach is None:
            return False
        return value >= self.reach if self.direction == "maximize" else value <= self.reach

    def score(self, rows: Iterable[Row]) -> float:
        """Return the last value of the metric that counts; of few episodes if the whole training has no more."""
        rows = list(rows)
        found = [value for row in rows if (value := self.metric_of(row)) is not None]
        return found[-1] if found else self.rung_score(rows)

    def rung_score(self, rows: Iterable[Row]) -> float:
        """Return what trials are compared by at a rung: the last value, of few episodes if there are no more yet."""
        found = [value for row in rows if (value := self.shown(row)) is not None]
        return found[-1] if found else math.nan

    def values(self, rows: Sequence[Row]) -> list[float]:
        """Return what a trial that is over comes to; NaN first where no row has the metric."""
        first = self.score(rows) if self.reach is None else self._cost(rows)
        return [first, _seconds(self._until(rows)[-1])] if self.wall_time else [first]

    def _until(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows up to the one that reached the goal."""
        ends = (index for index, row in enumerate(rows) if self.is_reached(row))
        return rows[: next(ends, len(rows)) + 1]

    def _cost(self, rows: Sequence[Row]) -> float:
        """Return the cost until the goal; without it up to twice the whole, the less the nearer it came."""
        assert self.reach is not None
        last = self._until(rows)[-1]
        spent = float(last["env_steps"]) if self.cost == "env_steps" else _seconds(last)
        if self.is_reached(last):
            return spent
        found = [value for row in rows if (value := self.metric_of(row)) is not None]
        if not found:
            return 2 * spent
        best = max(found) if self.direction == "maximize" else min(found)
        away = abs(self.reach - best) / max(abs(self.reach), 1e-9)
        return spent * (1 + away / (1 + away))

    def missing(self, rows: Iterable[Row]) -> str | None:
        """Return that a whole training has no such metric but others of its kind, in words; None where it is there."""
        known = {
            name for row in rows for name in tensorboard_values(row, ()) if not name.startswith("rollout/running_")
        }
        group = self.metric.partition("/")[0] + "/"
        others = sorted(name for name in known if name.startswith(group))
        if self.metric in known or not others:
            return None
        return f"has no metric {self.metric!r}{did_you_mean(self.metric, known)}; it has {', '.join(others)}"


def _seconds(row: Row) -> float:
    return float((row.get("time") or {}).get("seconds", math.nan))


def rows_until(rows: Iterable[Row], env_steps: int) -> list[Row] | None:
    """Return the rows up to the first that is at or past ``env_steps``; None where none is yet."""
    found: list[Row] = []
    for row in rows:
        found.append(row)
        if row.get("env_steps", 0) >= env_steps:
            return found
    return None
