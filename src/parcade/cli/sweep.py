"""Try many settings and keep the best.

  parcade sweep configs/sweeps/lantern.yaml                20 trainings of Lantern, settings chosen by Optuna
  parcade sweep mine.yaml --jobs 2                         two trials at once, each on its share of the cores
  parcade sweep mine.yaml --trials 50                      more trials of the same sweep
  parcade sweep mine.yaml --cluster auto --jobs 4          trials on the nodes of a Ray cluster, four at once
  parcade sweep mine.yaml --timesteps 20k --out results/quick   flags override the file's fixed settings

The file names settings with ranges, an objective and a budget; docs/sweep.md explains it. Every trial is an ordinary
run in results/<name>/. Ctrl-C stops with checkpoints; the same command goes on, also after kill -9 and on a second
machine that shares the folder. It ends with best.yaml (for `parcade train --config`), a table and sweep.html.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number
from parcade.cli.terminal import Terminal, print_result
from parcade.config.settings import TrainSettings
from parcade.host.cores import usable_cores

if TYPE_CHECKING:
    from parcade.cluster.opening import RayMachines
    from parcade.tune.sweep.jobs import Jobs
    from parcade.tune.sweep.outcome import Outcome
    from parcade.tune.sweep.plan import SweepPlan
    from parcade.tune.sweep.status import SweepStatus

_LINE_S = 10.0  # between two lines of plain progress
_REFRESH_S = 2.0  # between two looks at what other commands wrote
_CLOCK_S = 20.0  # between two notes of the time that is used up


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the sweep's flags, and those of all settings."""
    parser.add_argument("file", metavar="FILE", help="YAML or JSON file of the sweep")
    parser.add_argument("--jobs", type=whole_number, default=1, metavar="J", help="trials at once, cores shared [1]")
    parser.add_argument("--trials", type=whole_number, metavar="N", help="number of trials [the file's n_trials]")
    parser.add_argument("--minutes", type=float, metavar="X", help="minutes after which it ends [the file's]")
    parser.add_argument("--out", metavar="FOLDER", help="the sweep's folder [results/<name>]")
    parser.add_argument("--plain", action="store_true", help="print lines instead of a live display")
    add_setting_flags(parser, set(TrainSettings.model_fields) - {"run_name", "log_root"})


def run(arguments: argparse.Namespace) -> int:
    """Sweep; the last line is JSON on request."""
    from parcade.tune.sweep.file import read_sweep
    from parcade.tune.sweep.jobs import Jobs, shares
    from parcade.tune.sweep.outcome import Outcome
    from parcade.tune.sweep.status import SweepStatus
    from parcade.tune.sweep.sweep import Sweep, check_env

    flags = given_settings(arguments)
    cluster = flags.pop("cluster", None)  # no number depends on it: the same sweep goes on with or without one
    plan = read_sweep(arguments.file, flags)
    for flag, name in (("trials", "n_trials"), ("minutes", "minutes")):
        value = getattr(arguments, flag)
        if value is not None and value <= 0:
            raise UsageError(f"--{flag} is {value}, wanted more than 0")
        plan = replace(plan, **{name: value}) if value is not None else plan
    cluster = plan.fixed.get("cluster") if cluster is None else cluster
    machines = _machines(plan, cluster, arguments.jobs) if cluster not in (None, "none", "") else []
    cores = [tuple(_cores())] * arguments.jobs if machines else shares(_cores(), arguments.jobs, plan)
    folder = Path(arguments.out) if arguments.out else Path("results") / plan.name
    check_env(plan, flags, f"the sweep file {arguments.file}")
    sweep = Sweep(plan, folder)
    clock = _Clock(sweep.journal, plan.minutes)
    status = SweepStatus(sweep, clock.left_s)
    status.refresh()
    jobs = Jobs(plan, folder.absolute(), cores, clock.left_s, cluster, machines)
    with _shown(status, jobs, arguments.plain or arguments.json) as (listen, glance):

        def look() -> None:
            clock.tick()
            glance()

        jobs.run(listen, look)
    clock.tick(at_once=True)
    status.refresh()
    return _end(Outcome(sweep, status.trials), status, jobs, arguments.json)


def _machines(plan: SweepPlan, cluster: str, jobs: int) -> list[RayMachines]:
    """Return each job's part of a cluster, of one that all jobs fit on."""
    from parcade.cluster.opening import RayMachines
    from parcade.config.settings import make_settings
    from parcade.train.opening import learners_of

    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}, wanted 1 or more")
    settings = make_settings({**plan.given, "cluster": cluster})
    return RayMachines.of_jobs(settings, learners_of(settings), jobs)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(usable_cores()))


class _Clock:
    """Counts the minutes that this machine's commands have used of the budget; the storage keeps the count."""

    def __init__(self, journal: Any, minutes: float | None) -> None:
        self._journal, self._key = journal, f"seconds:{socket.gethostname()}"
        self._before_s = float(journal.noted(self._key) or 0.0)
        self._started_s = self._noted_s = time.monotonic()
        self.left_s = None if minutes is None else max(0.0, 60 * minutes - self._before_s)

    def tick(self, *, at_once: bool = False) -> None:
        """Note the time now and then."""
        now_s = time.monotonic()
        if self.left_s is not None and (at_once or now_s - self._noted_s >= _CLOCK_S):
            self._noted_s = now_s
            self._journal.note(self._key, self._before_s + now_s - self._started_s)


@contextmanager
def _shown(status: SweepStatus, jobs: Jobs, plain: bool) -> Iterator[Any]:
    """Give what listens to the jobs and what shows the state: a live line, or a plain one now and then."""
    terminal = Terminal()
    console = Console(file=terminal, highlight=False)  # type: ignore[arg-type]
    live = None if plain or not terminal.isatty() else Live(console=console, refresh_per_second=4)
    last = {"line": time.monotonic(), "refresh": time.monotonic()}

    def say(text: str) -> None:
        if live is not None:
            live.console.print(text, markup=False, soft_wrap=True)
        else:
            terminal.write(f"{text}\n")
            terminal.flush()

    def listen(news: Any) -> None:
        text = status.hear(news)
        if text is not None:
            say(text)

    def glance() -> None:
        now_s = time.monotonic()
        if now_s - last["refresh"] >= _REFRESH_S:
            last["refresh"] = now_s
            status.refresh()
        if live is not None:
            live.update(Text(status.line(), style="dim", no_wrap=True, overflow="ellipsis"))
        elif now_s - last["line"] >= _LINE_S and status.under_way:
            last["line"] = now_s
            say(status.line())
        if jobs.stopped_by is not None and "stop" not in last:
            last["stop"] = now_s
            say("stopping: every trial writes a checkpoint; press Ctrl-C again to end at once")

    if live is None:
        yield listen, glance
    else:
        with live:
            yield listen, glance


def _end(outcome: Outcome, status: SweepStatus, jobs: Jobs, as_json: bool) -> int:
    """Write best.yaml and the page, print the table and the end."""
    from parcade.tune.sweep.page import write_page

    best = outcome.write_best()
    page = outcome.sweep.folder / "sweep.html"
    write_page(page, outcome)
    stream = sys.stderr if as_json else sys.stdout
    table = _table(outcome, status)
    Console(file=stream, highlight=False, width=400).print(table)
    told = [f"\nThe page is {page}", *_beside_defaults(outcome, status)]
    if best is not None:
        told.append(f"The best settings are in {best}: `parcade train --config {best}` trains with them")
    if jobs.is_out_of_time:
        told.append("The minutes of the budget are used up; --minutes gives more")
    if jobs.stopped_by is not None or outcome.count("under way"):
        told.append("The same command goes on with the trials that are not over")
    for line in told:
        print(line, file=stream)
    if as_json:
        more = {"best_config": None if best is None else str(best), "html": str(page)}
        seconds = time.monotonic() - status.started_s
        stopped = jobs.stopped_by is not None
        print_result(json.dumps({**outcome.to_dict(), **more, "seconds": seconds, "interrupted": stopped}))
    return 0 if jobs.stopped_by is None else 128 + jobs.stopped_by


def _beside_defaults(outcome: Outcome, status: SweepStatus) -> list[str]:
    """Say what the settings a training has by themselves came to, beside the best."""
    own, best = outcome.defaults, outcome.best
    if own is None or best is None or own.state != "complete":
        return []
    first = f"trial {own.number + 1}: {status.said(own)}"
    if own is best:
        return [f"No trial beat the defaults, {first}"]
    return [f"The best is trial {best.number + 1}: {status.said(best)}; the defaults, {first}"]


def _table(outcome: Outcome, status: SweepStatus) -> Table:
    """Return all trials, the best first."""
    from parcade.run.curves import duration

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("trial", "state", outcome.objective.words, "env steps", "time", "settings"):
        table.add_column(escape(heading), no_wrap=True)
    for trial in outcome.ranked():
        value = status.said(trial) if trial.state == "complete" else trial.reason or "–"
        steps = trial.env_steps or max(trial.scores, default=0)
        row = (str(trial.number + 1), trial.state, value, f"{steps:,}", duration(trial.seconds))
        table.add_row(*(escape(text) for text in (*row, status.point(trial.number))))
    return table
