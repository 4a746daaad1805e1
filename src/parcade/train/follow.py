"""Which workers suit the machine now: pure rules over what the kernel told, and the looks that feed them.

A rollout ends with its slowest worker. A core that others use as well slows its worker down, so fewer slots suit it;
one that others have for themselves suits none. No number of a run depends on where slots are, only its time does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from parcade.host.core_use import CoreTime, allowed_cores, core_time, idle_seconds
from parcade.pool.pool import Pool

LOOK_S = 1.0  # seconds of playing that one look covers at least
GAIN = 0.1  # a change that makes rollouts shorter by less than this share is none
FREE = 0.7  # a core that nobody uses for this share of the time is free
STEPS = 4  # weights are quarters of the best core's
START_S = 0.5  # what new workers cost beside the steps they take again


class Layout(NamedTuple):
    """Workers, one on each of these cores, with slots in proportion to the weights."""

    cpus: tuple[int, ...]
    weights: tuple[float, ...]


class Sharing(NamedTuple):
    """How slots are shared out at present: worker i has ``counts[i]`` of them and runs on ``cpus[i]``, None for any."""

    counts: tuple[int, ...]
    cpus: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen while games played."""

    play_s: float
    got: tuple[float | None, ...]  # of each worker: the share of its time ready to run in which it ran
    idle: Mapping[int, float]  # of each core: the share of the time in which nobody used it


@dataclass(frozen=True, slots=True)
class Following:
    """What is remembered from look to look."""

    capacity: Mapping[int, float] = field(default_factory=dict)  # of each core for us, from 0 to 1
    lost_s: float = 0.0  # since the machine changed


def advance(
    state: Following, look: Look, present: Sharing, cores: Sequence[int], cost_s: float
) -> tuple[Following, Layout | None]:
    """Return what to remember and the workers to move to; None: none.

    It moves once as much time was lost as the move costs: if the machine changes back at once, that is at most
    twice what the best choice would have lost.
    """
    if set(present.cpus) - {None} - set(cores):  # a core may not be used any more
        return Following(), Layout(tuple(cores), (1.0,) * len(cores))
    capacity = {core: _smoothed(state.capacity.get(core), now) for core, now in _capacities(look, present, cores)}
    wanted = fitting(capacity)
    gain = 1 - _time(wanted, capacity) / max(_present_time(present, look, capacity), 1e-9)
    if gain < GAIN:
        return Following(capacity), None
    lost_s = state.lost_s + gain * look.play_s
    if lost_s < cost_s:
        return Following(capacity, lost_s), None
    return Following(), wanted


def fitting(capacity: Mapping[int, float]) -> Layout:
    """Return one worker on each core that is of use; weights are quarters of the best core's.

    >>> fitting({0: 1.0, 1: 0.52, 2: 0.05})
    Layout(cpus=(0, 1), weights=(1.0, 0.5))
    """
    best = max(capacity.values())
    if best <= 0:
        return Layout(tuple(capacity), (1.0,) * len(capacity))
    weights = {core: round(STEPS * share / best) / STEPS for core, share in capacity.items()}
    used = {core: weight for core, weight in weights.items() if weight > 0}
    return Layout(tuple(used), tuple(used.values()))


def _smoothed(before: float | None, now: float) -> float:
    return now if before is None else (before + now) / 2


def _capacities(look: Look, present: Sharing, cores: Sequence[int]) -> list[tuple[int, float]]:
    """Return what each core gives us: by the worker there, or, without one, whether it is free."""
    if None in present.cpus:  # the kernel moves our workers about: all that is known is whether there is more room
        room = sum(look.idle.get(core, 0.0) for core in cores) >= FREE * (len(cores) - len(present.cpus))
        is_short = len(present.cpus) < len(cores)
        return [
            (core, 1.0 if not is_short or room or place < len(present.cpus) else 0.0)
            for place, core in enumerate(cores)
        ]
    there = dict(zip(present.cpus, look.got, strict=True))
    found = []
    for core in cores:
        got = there.get(core)
        free = 1.0 if look.idle.get(core, 0.0) >= FREE else 0.0
        found.append((core, got if got is not None else free))
    return found


def _time(layout: Layout, capacity: Mapping[int, float]) -> float:
    """Return the time of a rollout: that of its slowest worker."""
    whole = sum(layout.weights)
    return max(w / whole / max(capacity[core], 0.01) for core, w in zip(layout.cpus, layout.weights, strict=True))


def _present_time(present: Sharing, look: Look, capacity: Mapping[int, float]) -> float:
    whole = sum(present.counts)
    if None in present.cpus:
        return max(count / whole for count in present.counts)
    return max(
        count / whole / max(capacity[core], 0.01)
        for count, core in zip(present.counts, present.cpus, strict=True)
        if core is not None
    )


class Follower:
    """Looks at the workers and the cores while rollouts are played."""

    def __init__(self) -> None:
        self._state = Following()
        self._began: _Sample | None = None
        self._forget()

    def _forget(self) -> None:
        self._play_s = 0.0
        self._workers: dict[int, CoreTime] = {}  # by pid: since the last look
        self._idle: dict[int, float] = {}

    def before_play(self, pool: Pool) -> None:
        """Note where everybody stands."""
        self._began = _sample(pool)

    def after_play(self, pool: Pool) -> None:
        """Add what happened since."""
        if self._began is None:
            return
        now, before, self._began = _sample(pool), self._began, None
        self._play_s += now.at_s - before.at_s
        for pid, time_now in now.workers.items():
            if pid in before.workers:
                run, wait = self._workers.get(pid, CoreTime(0.0, 0.0))
                then = before.workers[pid]
                self._workers[pid] = CoreTime(run + time_now.run_s - then.run_s, wait + time_now.wait_s - then.wait_s)
        for core, idle_s in now.idle.items():
            self._idle[core] = self._idle.get(core, 0.0) + idle_s - before.idle.get(core, idle_s)

    def wanted(self, pool: Pool, cost_s: float) -> Layout | None:
        """Return the workers to move to, or None; looks shorter than ``LOOK_S`` are put together."""
        cores, present = allowed_cores()[: pool.n_envs], sharing_of(pool)
        if not cores or (self._play_s < LOOK_S and not set(present.cpus) - {None} - set(cores)):
            return None
        got = tuple(_got(self._workers.get(pid)) for pid in _pids(pool))
        idle = {core: idle_s / max(self._play_s, 1e-9) for core, idle_s in self._idle.items()}
        look = Look(self._play_s, got, idle)
        self._forget()
        self._state, layout = advance(self._state, look, present, cores, cost_s)
        return layout


class _Sample(NamedTuple):
    at_s: float
    workers: dict[int, CoreTime]
    idle: dict[int, float]


def sharing_of(pool: Pool) -> Sharing:
    """Return who has how many slots, and where."""
    counts = tuple(len(slots) for slots in pool.shares)
    return Sharing(counts, tuple(pool.cpus) if pool.cpus else (None,) * len(counts))


def can_follow() -> bool:
    """Whether the kernel tells how long a process waits for a core."""
    return bool(allowed_cores()) and core_time(os.getpid()) is not None


def _pids(pool: Pool) -> list[int]:
    pids: list[int] = getattr(pool, "worker_pids", [])
    return pids or [os.getpid()]


def _sample(pool: Pool) -> _Sample:
    workers = {pid: found for pid in _pids(pool) if (found := core_time(pid)) is not None}
    return _Sample(time.monotonic(), workers, idle_seconds())


def _got(since: CoreTime | None) -> float | None:
    if since is None or since.run_s + since.wait_s < 0.02:  # it hardly wanted to run
        return None
    return since.run_s / (since.run_s + since.wait_s)
