"""The sweep's own process: starts jobs, each on its share of the cores, watches them and passes on what they tell."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.errors import RunError, SettingsError
from parcade.host.child_process import exit_words, interrupts_held, main_module_hidden
from parcade.tune.sweep.job import STOP, JobOrders, TrialNews, run_job
from parcade.tune.sweep.plan import SweepPlan

if TYPE_CHECKING:
    from parcade.train.opening import Machines

MOST_DEATHS = 3  # of a job in a row, without a row of metrics between them
_GLANCE_S = 0.25
_ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def shares(cores: list[int], jobs: int, plan: SweepPlan) -> list[tuple[int, ...]]:
    """Return the cores of each job, as even as they can be; impossible numbers raise SettingsError.

    >>> from parcade.tune.sweep.objective import Objective
    >>> shares([0, 1, 2, 3, 4], 2, SweepPlan("x", {}, (), Objective("")))
    [(0, 1, 2), (3, 4)]
    """
    if not 1 <= jobs <= len(cores):
        raise SettingsError(f"--jobs is {jobs}, wanted 1 to {len(cores)}: each job needs a core of its own")
    ends = [-(-index * len(cores) // jobs) for index in range(jobs + 1)]
    found = [tuple(cores[low:high]) for low, high in itertools.pairwise(ends)]
    least = min(map(len, found))
    for name in ("n_workers", "num_threads"):
        wanted = plan.fixed.get(name)
        if isinstance(wanted, int) and jobs > 1 and wanted > least:
            raise SettingsError(
                f"--jobs {jobs} leaves {least} of {len(cores)} cores to a trial, but {name} is {wanted}; "
                f"use fewer jobs or leave {name} out"
            )
    return found


@dataclass
class _Running:
    """One job and its process."""

    orders: JobOrders
    process: Any
    channel: Connection
    deaths: int = 0
    error: TrialNews | None = None


class Jobs:
    """Runs the jobs of one command until all are done, time is up, or somebody stops it."""

    def __init__(
        self,
        plan: SweepPlan,
        folder: Path,
        cores: list[tuple[int, ...]],
        seconds: float | None,
        cluster: str | None = None,
        machines: Sequence[Machines] = (),
    ) -> None:
        """Take the cores of each job, or the ``cluster`` and each job's part of its ``machines``."""
        by_job: Sequence[Machines | None] = machines or [None] * len(cores)
        shares_of = zip(cores, by_job, strict=True)
        self._orders = [JobOrders(plan, folder, os.getpid(), share, cluster, part) for share, part in shares_of]
        self._until_s = None if seconds is None else time.monotonic() + seconds
        self._context: Any = multiprocessing.get_context("spawn")
        self._running: list[_Running] = []
        self.stopped_by: int | None = None
        self.is_out_of_time = False

    def run(self, listen: Callable[[TrialNews], None], glance: Callable[[], None]) -> None:
        """Start all jobs and hand ``listen`` what they tell; ``glance`` is called a few times a second."""
        try:
            with _signals(self._stop):
                self._running = [self._start(orders) for orders in self._orders]
                while self._running:
                    self._look(listen)
                    self._mind_the_time()
                    glance()
        finally:
            for job in self._running:
                job.process.kill()
                job.process.join()

    def _start(self, orders: JobOrders) -> _Running:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=run_job, args=(orders, theirs), name="parcade-sweep-job")
        with interrupts_held(), main_module_hidden():
            process.start()
        theirs.close()
        return _Running(orders, process, ours)

    def _look(self, listen: Callable[[TrialNews], None]) -> None:
        """Pass on what has come, and take leave of jobs that have ended."""
        ready = wait([part for job in self._running for part in (job.channel, job.process.sentinel)], _GLANCE_S)
        for job in list(self._running):
            if job.channel in ready:
                self._hear(job, listen)
            if job.process.sentinel in ready:
                self._hear(job, listen)
                self._end(job, listen)

    def _hear(self, job: _Running, listen: Callable[[TrialNews], None]) -> None:
        with suppress(EOFError, OSError):
            while job.channel.poll():
                news = job.channel.recv()
                if news.kind == "row":
                    job.deaths = 0
                if news.kind == "error":
                    job.error = news
                listen(news)

    def _end(self, job: _Running, listen: Callable[[TrialNews], None]) -> None:
        """Take a job off the list; one that died is started again, since its trial goes on exactly."""
        job.process.join()
        self._running.remove(job)
        job.channel.close()
        if job.error is not None:
            raise (SettingsError if job.error.is_users else RunError)(job.error.text)
        code = job.process.exitcode
        if code == 0 or self.stopped_by is not None:
            return
        if job.deaths + 1 >= MOST_DEATHS:
            raise RunError(
                f"a job of the sweep was {exit_words(code)}, {MOST_DEATHS} times in a row; see its trial's log"
            )
        listen(TrialNews("said", text=f"a job was {exit_words(code)}; another one takes up its trial"))
        again = self._start(job.orders)
        again.deaths = job.deaths + 1
        self._running.append(again)

    def _mind_the_time(self) -> None:
        if self._until_s is not None and not self.is_out_of_time and time.monotonic() >= self._until_s:
            self.is_out_of_time = True
            self._tell_all(STOP)

    def _tell_all(self, word: str) -> None:
        for job in self._running:
            with suppress(OSError):
                job.channel.send(word)

    def _stop(self, number: int) -> None:
        """End all jobs with checkpoints; the second time at once, which loses what came after the last ones."""
        if self.stopped_by is None:
            self.stopped_by = number
            self._tell_all(STOP)
        else:
            for job in self._running:
                job.process.kill()


@contextmanager
def _signals(stop: Callable[[int], None]) -> Iterator[None]:
    """Hand Ctrl-C, SIGTERM and the end of the terminal to ``stop``; ignored ones stay ignored."""
    heard = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    kept = {number: signal.signal(number, lambda number, _: stop(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
