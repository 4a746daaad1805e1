"""One sweep: its plan, its folder and its storage; what a job asks and what it reports."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.config.settings import TrainSettings, make_settings
from parcade.env.by_id import registered_env
from parcade.env.foreign import check_config_modules
from parcade.errors import RunError, SettingsError
from parcade.run.lock import held, is_locked
from parcade.train.given import check_coach, env_spec, settings_for
from parcade.tune.sweep.journal import SweepJournal
from parcade.tune.sweep.objective import Objective, rows_until
from parcade.tune.sweep.plan import SweepPlan
from parcade.tune.sweep.records import Go, Ladder, New, Order, TrialRecord, next_order
from parcade.tune.sweep.sampling import first_point, grid_points, next_point

if TYPE_CHECKING:
    from parcade.tune.sweep.trial_part import TrialPart


MOST_FAILURES = 3  # before the first trial that can be trained


_ENV_CHOICES = ("game", "env_id", "imports")  # settings that may name a module


class Sweep:
    """The same for every process that works on it."""

    def __init__(self, plan: SweepPlan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.base = settings_for({**plan.given, **_placed(folder)})
        self._check_firsts()  # before anything is written: what a mended file wants would be another sweep
        self.journal = SweepJournal(folder, plan)
        self._n_envs = self._noted_envs()
        rungs = plan.halving.rungs(self.base.total_timesteps) if plan.halving else ()
        factor = plan.halving.factor if plan.halving else 3
        larger = plan.objective.direction == "maximize"
        self.ladder = Ladder(self.base.total_timesteps, tuple(rungs), factor, larger, len(plan.first))

    @property
    def objective(self) -> Objective:
        """What the sweep looks for."""
        return self.plan.objective

    @cached_property
    def n_trials(self) -> int | None:
        """How many trials there are to be; None where only time ends the sweep."""
        if self.plan.sampler != "grid":
            return self.plan.n_trials
        whole = len(self.plan.first) + len(grid_points(self.plan))
        return min(whole, self.plan.n_trials or whole)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What the settings with ranges are in a training that leaves them out."""
        own = self.base.model_dump(mode="json")
        found = {}
        for one in self.plan.ranges:
            top, dot, key = one.name.partition(".")
            value = (own[top] or {}).get(key) if dot else own[top]
            found[one.name] = value
        return found

    def _check_firsts(self) -> None:
        """Refuse trials that the file asks for and that lie outside of the ranges."""
        ranges = {one.name: one for one in self.plan.ranges}
        for index in range(len(self.plan.first)):
            for name, value in first_point(self.plan, index, self.defaults).items():
                if not ranges[name].holds(value):
                    raise SettingsError(
                        f"the sweep {self.plan.name}: the default of {name} is {value!r}, which is outside of its "
                        "range; widen the range, or give the value under first"
                    )

    def _noted_envs(self) -> int:
        """Return how many games each trial has: as many as the first machine of the sweep chose."""
        with self.journal.deciding():
            noted = self.journal.noted("n_envs")
            if not isinstance(noted, int):
                noted = self.base.envs
                self.journal.note("n_envs", noted)
        return noted

    def path_of(self, number: int) -> Path:
        """Return the run's folder of a trial."""
        return self.folder / f"trial-{number + 1:03d}"

    def given_of(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return a trial's settings as a config file holds them."""
        return {"n_envs": self._n_envs, **self.plan.settings(point)}

    def settings_of(self, point: Mapping[str, Any]) -> TrainSettings:
        """Return a trial's settings; a combination that cannot be trained raises SettingsError."""
        return settings_for({**self.given_of(point), **_placed(self.folder)})

    def trials(self) -> list[TrialRecord]:
        """Return all trials, and which are in whose hands."""
        return [
            replace(trial, claim=self._claim(trial.number)) if trial.state in ("under way", "paused") else trial
            for trial in self.journal.trials()
        ]

    def _claim(self, number: int) -> Any:
        if not is_locked(self._claim_path(number)):
            return "free"
        job = self.journal.job_of(number)
        is_here = job.get("host") == socket.gethostname()
        return "dying" if is_here and not _lives(job.get("supervisor")) else "taken"

    def _claim_path(self, number: int) -> Path:
        return self.folder / "locks" / f"trial-{number + 1:03d}"

    def take_next(self, supervisor: int, stack: ExitStack) -> Order:
        """Decide what a job does next and take it; ``stack`` keeps the claim until the job has reported."""
        job = {"host": socket.gethostname(), "pid": os.getpid(), "supervisor": supervisor}
        with self.journal.deciding():
            trials = self.trials()
            _check_hope(trials)
            order = next_order(trials, self.ladder, self.n_trials)
            if isinstance(order, New):
                point = next_point(self.plan, order.number, trials, self.defaults)
                if point is None:
                    return "done"
                stack.enter_context(held(self._claim_path(order.number)))
                self.journal.add(point, order.target, job)
            elif isinstance(order, Go):
                stack.enter_context(held(self._claim_path(order.number)))
                self.journal.take(order.number, order.target, job)
        return order

    def report(self, number: int, target: int, part: TrialPart) -> None:
        """Write down how a part of a trial ended; one that was stopped goes on another time."""
        if part.end == "stopped":
            return
        rows = part.rows
        missing = self.objective.missing(rows)
        if missing is not None:
            raise SettingsError(f"{self.path_of(number)} {missing}")
        facts = {"env_steps": rows[-1]["env_steps"], "seconds": (rows[-1].get("time") or {}).get("seconds", 0.0)}
        passed = {rung: until for rung in self.ladder.rungs if (until := rows_until(rows, rung)) is not None}
        for rung, until in passed.items():
            if rung < target:  # known already, but for a trial that does not pause
                self.journal.score(number, rung, self.objective.rung_score(until))
        if part.end == "rung":
            self.journal.pause(number, target, self.objective.rung_score(rows), facts)
        else:
            facts["reached"] = self.objective.is_reached(rows[-1])
            self.journal.complete(number, self.objective.values(rows), facts)


def check_env(plan: SweepPlan, flags: Mapping[str, Any], where: str) -> None:
    """Refuse modules that are not to be imported unasked, and an env that does not exist; import nothing before."""
    settings = make_settings(plan.given)
    spec = env_spec(settings)
    check_config_modules(spec, flags, where)
    check_coach(settings, flags, where)
    for name, value in _env_choices(plan):
        others = dict.fromkeys({"game", "env_id"} - {name}) if name != "imports" else {}
        try:
            check_config_modules(spec.with_(**others, **{name: value}), {}, where)
        except SettingsError:
            raise SettingsError(
                f"{where} has {value!r} among the choices of {name}, whose module does not lie in the current folder; "
                "sweep in the folder of the module if you trust it"
            ) from None
    if spec.env_id is not None:
        registered_env(spec)


def _env_choices(plan: SweepPlan) -> Iterator[tuple[str, Any]]:
    """Yield settings and values for which single trials would import a module."""
    for one in plan.ranges:
        if one.name in _ENV_CHOICES:
            for value in one.choices:
                yield one.name, value


def _check_hope(trials: list[TrialRecord]) -> None:
    """Give up where no trial can be trained."""
    if len(trials) >= MOST_FAILURES and all(trial.state == "failed" for trial in trials):
        raise RunError(f"none of {len(trials)} trials could be trained, the last because {trials[-1].reason}")


def _placed(folder: Path) -> dict[str, Any]:
    return {"log_root": str(folder.parent), "run_name": folder.name}


def _lives(pid: Any) -> bool:
    try:
        os.kill(int(pid), 0)
    except (OSError, ValueError, TypeError):
        return False
    return True
