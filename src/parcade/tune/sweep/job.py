"""A job: a process that trains one trial after the other. It hears nothing but its sweep, and ends with it."""

from __future__ import annotations

import logging
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parcade.errors import ClusterError, DivergedError, ParcadeError, SettingsError, UserError
from parcade.host.child_process import die_with_parent, end_with, ignore_interrupts, name_process
from parcade.tune.sweep.plan import SweepPlan
from parcade.tune.sweep.records import Go, New

if TYPE_CHECKING:
    from parcade.train.opening import Machines

STOP = "stop"  # what a sweep tells its jobs: end now, with a checkpoint
_GLANCE_S = 0.5


@dataclass(frozen=True, slots=True)
class JobOrders:
    """What a job needs to know."""

    plan: SweepPlan
    folder: Path
    supervisor: int
    cores: tuple[int, ...]
    cluster: str | None = None  # where its trials are trained; None: as their settings say
    machines: Machines | None = None  # of that cluster, this job's part of them


@dataclass(frozen=True, slots=True)
class TrialNews:
    """What a job tells its sweep."""

    kind: Literal["begun", "resumed", "row", "rung", "over", "stopped", "failed", "said", "error"]
    number: int = -1
    text: str = ""
    row: dict[str, Any] | None = None
    is_users: bool = False  # an error that the user can mend


def run_job(orders: JobOrders, channel: Connection) -> None:
    """Train until nothing is left to do or the sweep says stop; the target of a process."""
    ignore_interrupts()
    die_with_parent(orders.supervisor)
    end_with(orders.supervisor)
    name_process("parcade-sweep")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, orders.cores)  # workers and threads follow: each job uses its share
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        job = Job(orders, channel)
        logger = logging.getLogger("parcade")
        logger.handlers, logger.propagate = [_ToSweep(job)], False
        job.work()
    except ParcadeError as error:
        channel.send(TrialNews("error", text=str(error), is_users=isinstance(error, UserError)))


class Job:
    """Takes one order after the other and reports how each ended."""

    def __init__(self, orders: JobOrders, channel: Connection) -> None:
        from parcade.tune.sweep.sweep import Sweep

        self._orders, self._channel, self._number = orders, channel, -1
        self._is_stopped = False
        self._sweep = Sweep(orders.plan, orders.folder)

    def work(self) -> None:
        """Take what is next, as long as there is something."""
        while not self._heard():
            with ExitStack() as claim:
                order = self._sweep.take_next(self._orders.supervisor, claim)
                if order == "done":
                    return
                if isinstance(order, Go | New):
                    self._train(order)
                    continue
            time.sleep(_GLANCE_S)

    def _heard(self) -> bool:
        """Return whether the sweep has said stop."""
        while self._channel.poll():
            self._is_stopped |= self._channel.recv() == STOP
        return self._is_stopped

    def _train(self, order: Go | New) -> None:
        from parcade.tune.sweep.trial_part import train_part

        sweep, number = self._sweep, order.number
        self._number = number
        trial = sweep.journal.trials()[number]
        self._tell("begun" if isinstance(order, New) else "resumed")
        try:
            settings = self._within_share(sweep.settings_of(trial.point))
            part = train_part(
                sweep.path_of(number),
                settings,
                sweep.objective,
                order.target,
                on_row=lambda row: self._tell("row", row=row),
                is_stopped=self._heard,
                machines=self._orders.machines,
            )
        except ClusterError:  # every trial would fail alike
            raise
        except (DivergedError, SettingsError) as error:  # a bad choice of settings, and nothing else
            sweep.journal.fail(number, str(error))
            self._tell("failed", str(error))
            return
        sweep.report(number, order.target, part)
        self._tell(part.end)

    def _within_share(self, settings: Any) -> Any:
        """Return the settings for this job's cores, where the kernel does not see to it, or for its cluster."""
        if self._orders.cluster is not None:
            return settings.model_copy(update={"cluster": self._orders.cluster if self._orders.machines else None})
        if hasattr(os, "sched_setaffinity"):
            return settings
        share = len(self._orders.cores)
        fitted = {"n_workers": settings.n_workers or share, "num_threads": settings.num_threads or share}
        return settings.model_copy(update=fitted)

    def _tell(self, kind: Any, text: str = "", row: dict[str, Any] | None = None) -> None:
        self._channel.send(TrialNews(kind, self._number, text, row))

    def say(self, text: str) -> None:
        """Hand a warning to the sweep."""
        self._tell("said", text)


class _ToSweep(logging.Handler):
    """Hands warnings of a training to the sweep, which says them with the trial's number."""

    def __init__(self, job: Job) -> None:
        super().__init__(logging.WARNING)
        self._job = job

    def emit(self, record: logging.LogRecord) -> None:
        self._job.say(record.getMessage())
