"""A pool under fire beside a pool in peace: the same steps, the same numbers, nothing left behind.

Both pools take the same steps in turn. Every row of both goes into a running checksum, compared after each step, so
that a difference is found where it begins. Meanwhile a thread kills workers of one pool at random moments. A long run
in which nobody is killed is the business of ``parcade.bench.endurance``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import statistics
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from parcade.bench.machine import machine, rss_mb
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.soak_actions import Driver, SaveCount, soak_spec
from parcade.errors import SettingsError
from parcade.pool.process_pool import ProcessPool
from parcade.pool.progress import StepRows

SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP)
GAP_S = (1.0, 5.0)  # between two kills
RUTHLESS = 0.2  # share of shots that do not wait for the pool to have recovered from the last one
HANG_DEADLINE_S = 2.0
START_DEADLINE_S = 30.0
MANY_RESTARTS = 1000  # deaths in a row: here they are our own doing
REPORT_EVERY_S = 5.0
RSS_NOISE_MB = 16.0  # growth of a process below this is no leak


def soak(
    game: str = "lantern",
    *,
    minutes: float = 10.0,
    n_envs: int = 64,
    n_workers: int | None = None,
    observation: str = "pixels",
    max_env_steps: int | None = None,
    seed: int = 0,
    gap_s: tuple[float, float] = GAP_S,
    rom: str | None = None,
    state: str | None = None,
    say: Say = tell_stderr,
) -> dict[str, Any]:
    """Run both pools for ``minutes`` (or ``max_env_steps``) and return what was survived, and whether all was equal."""
    if minutes <= 0 or n_envs < 1:
        raise SettingsError("minutes and n_envs must be above 0")
    spec = soak_spec(game, observation=observation, rom=rom, state=state)
    n_groups = min(2, n_envs)
    options: dict[str, Any] = {"n_workers": n_workers, "n_groups": n_groups, "seed": seed, "restarts": MANY_RESTARTS}
    options |= {"step_deadline_s": HANG_DEADLINE_S, "start_deadline_s": START_DEADLINE_S}
    logger = logging.getLogger("parcade.pool")
    level = logger.level
    logger.setLevel(logging.ERROR)  # deaths are counted here, not told one by one
    try:
        with ProcessPool(spec, n_envs, **options) as calm, ProcessPool(spec, n_envs, **options) as shot_at:
            watch = _Watch(calm, shot_at, max_env_steps, minutes * 60, say)
            with _sniper(watch, seed, gap_s):
                watch.run(Driver(spec, n_envs, seed))
            result = watch.result()
    finally:
        logger.setLevel(level)
    result["orphans"] = len(_still_alive(watch.pids))
    result["files_left"] = sum(file.path.exists() for pool in (calm, shot_at) for file in pool.shared_files)
    result["passed"] = bool(
        result["checksums_equal"]
        and not (result["orphans"] or result["files_left"] or result["cut_episodes"])
        and result["fds_start"] == result["fds_end"]
        and result["rss_flat"]
    )
    about = {"bench": "soak", "kills": True, "game": spec.label, "observation": observation, "n_envs": n_envs}
    return {**about, **result, "machine": machine()}


class _Watch:
    """Steps both pools in turn and keeps the books."""

    def __init__(
        self, calm: ProcessPool, shot_at: ProcessPool, max_env_steps: int | None, seconds: float, say: Say
    ) -> None:
        self.calm, self.shot_at, self._say, self._seconds = calm, shot_at, say, seconds
        self._max_steps = max_env_steps or (1 << 62)
        self.env_steps, self.seconds = 0, 0.0
        self.checksums = [0, 0]
        self.first_difference: int | None = None
        self.pids: dict[int, str] = {}  # every worker ever seen -> when it began
        self._rss: list[float] = []
        self._workers_mb: list[float] = []
        self.fds_start = 0

    def run(self, driver: Driver) -> None:
        """Step until the time or the steps are used up, or until the pools differ."""
        pools = (self.calm, self.shot_at)
        for pool in pools:
            pool.reset()
        self.fds_start = n_open_files()
        self.saves = SaveCount(self.calm.metric_names)
        started = next_report = time.monotonic()
        while self.seconds < self._seconds and self.env_steps < self._max_steps and self.first_difference is None:
            for group, slots in enumerate(self.calm.progress.slots):
                actions = driver.actions(slots)
                for pool in pools:
                    pool.send(actions, group)
            for group, slots in enumerate(self.calm.progress.slots):
                for index, pool in enumerate(pools):
                    rows = pool.recv(group)
                    self.checksums[index] = checksum(rows, self.checksums[index])
                self.saves.add(rows)
                self.env_steps += len(slots)
            if self.checksums[0] != self.checksums[1]:
                self.first_difference = self.env_steps
            self.seconds = time.monotonic() - started
            if time.monotonic() >= next_report:
                next_report = time.monotonic() + REPORT_EVERY_S
                self._look()

    def _look(self) -> None:
        note_pids(self.pids, self.calm.worker_pids)
        self._rss.append(rss_mb(os.getpid()))
        self._workers_mb.append(sum(rss_mb(pid) for pid in self.calm.worker_pids))
        self._say(
            f"{self.seconds:6.0f} s  {self.env_steps:>10,} env steps in each pool  "
            f"{len(self.shot_at.restarts):>4} deaths  checksum {self.checksums[0]:08x}  rss {self._rss[-1]:.0f} MB"
        )

    def result(self) -> dict[str, Any]:
        """Return the books; both pools are still open."""
        self._look()
        deaths = self.shot_at.restarts
        grown = [growth(self._rss), growth(self._workers_mb)]
        return {
            "n_workers": self.calm.n_workers,
            "seconds": self.seconds,
            "env_steps": self.env_steps,
            "saves": self.saves.total(self.shot_at),
            "deaths": len(deaths),
            "deaths_by_kind": {
                "SIGKILL": sum("SIGKILL" in words for words in deaths),
                "SIGSEGV": sum("SIGSEGV" in words for words in deaths),
                "hang": sum("did not move" in words for words in deaths),
            },
            "deaths_undisturbed_pool": len(self.calm.restarts),
            "cut_episodes": self.shot_at.cut_episodes,
            "checksum": f"{self.checksums[1]:08x}",
            "checksum_undisturbed": f"{self.checksums[0]:08x}",
            "checksums_equal": self.checksums[0] == self.checksums[1],
            "first_difference_at_env_step": self.first_difference,
            "rss_start_mb": self._rss[len(self._rss) // 4],
            "rss_end_mb": self._rss[-1],
            "workers_start_mb": self._workers_mb[len(self._workers_mb) // 4],
            "workers_end_mb": self._workers_mb[-1],
            "rss_flat": max(grown) < RSS_NOISE_MB,
            "fds_start": self.fds_start,
            "fds_end": n_open_files(),
        }


@contextlib.contextmanager
def _sniper(watch: _Watch, seed: int, gap_s: tuple[float, float]) -> Iterator[None]:
    """Send a random signal to a random worker after random pauses, all drawn from the seed, until the block ends.

    Most shots wait until the pool has moved since the last one, else a slow machine would do nothing but recover;
    some do not, and so hit a worker while it is being brought back.
    """
    stop, draw, pool = threading.Event(), random.Random(seed), watch.shot_at

    def shoot() -> None:
        steps_at_last_shot = -1
        while not stop.wait(draw.uniform(*gap_s)):
            worker, shot, ruthless = draw.randrange(pool.n_workers), draw.choice(SIGNALS), draw.random() < RUTHLESS
            while not ruthless and watch.env_steps == steps_at_last_shot and not stop.wait(0.05):
                pass
            steps_at_last_shot = watch.env_steps
            pid = pool.worker_pids[worker]
            note_pids(watch.pids, [pid])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, shot)

    thread = threading.Thread(target=shoot, name="sniper", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def checksum(rows: StepRows, running: int) -> int:
    """Return the running checksum over all that a step wrote; final rows count only where an episode ended."""
    ended = rows.terminated | rows.truncated
    for array in (*rows.obs.values(), rows.reward, rows.terminated, rows.truncated):
        running = zlib.crc32(np.ascontiguousarray(array).data, running)
    if ended.any():
        last = (*rows.final.values(), rows.episode_return, rows.episode_length, rows.metrics)
        for array in last:
            running = zlib.crc32(np.ascontiguousarray(array[ended]).data, running)
    return running


def n_open_files() -> int:
    """Return how many file descriptors this process holds."""
    return len(os.listdir("/proc/self/fd"))


def note_pids(pids: dict[int, str], seen: list[int]) -> None:
    """Remember workers and when they began, which tells them from later processes with the same pid."""
    for pid in seen:
        pids.setdefault(pid, _began(pid))


def _began(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _still_alive(pids: dict[int, str]) -> list[int]:
    return [pid for pid, began in pids.items() if began and _began(pid) == began]


def growth(samples: list[float]) -> float:
    """Return how much the last quarter lies above the second one; the first is warm-up."""
    quarter = max(1, len(samples) // 4)
    return statistics.median(samples[-quarter:]) - statistics.median(samples[quarter : 2 * quarter] or samples[:1])
