"""Slots spread over worker processes."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import weakref
from collections.abc import Sequence, Set
from typing import Any

import cloudpickle

from parcade.env.make import check_spec
from parcade.env.spec import EnvSpec
from parcade.errors import ParcadeError, PoolError, SettingsError
from parcade.host.cores import usable_cores
from parcade.pool.block import EnvShape
from parcade.pool.fragment import Fragment
from parcade.pool.limits import allow_files
from parcade.pool.mapped import MappedArrays
from parcade.pool.pool import Pool
from parcade.pool.same_spaces import marks_of
from parcade.pool.seeding import Episodes
from parcade.pool.sharing import processors, share_slots
from parcade.pool.supervisor import Supervisor, WorkerDiedError
from parcade.pool.worker import Attach, Call, SharedFile, WorkerOrders
from parcade.pool.worker_handle import WorkerHandle

START_METHODS = ("forkserver", "spawn", "fork")
_OPEN_POOLS: weakref.WeakSet[ProcessPool] = weakref.WeakSet()
CLOSING_S = 5.0  # what workers get to end by themselves
ABSENCE_S = 2.0  # a longer gap means that this process was elsewhere (learning, stopped), not that workers hang


class ProcessPool(Pool):
    """A pool of worker processes.

    ``weights`` share the slots out in proportion (equally by default); ``cpus`` names each worker's processor. A worker
    that dies or hangs is named, started again and brought back exactly where it was: what ``recv`` and ``play`` return
    is the same as if nothing had happened.
    """

    def __init__(
        self,
        spec: EnvSpec,
        n_envs: int,
        *,
        n_workers: int | None = None,
        seed: int = 0,
        n_groups: int = 1,
        episodes: Episodes | None = None,
        start_method: str | None = None,
        restarts: int = 5,
        step_deadline_s: float = 60.0,
        start_deadline_s: float = 120.0,
        memory_limit_mb: int | None = None,
        pin_workers: bool | None = None,
        preload: tuple[str, ...] = (),
        forgives_cuts: bool = False,
        weights: Sequence[float] | None = None,
        cpus: Sequence[int] | None = None,
    ) -> None:
        super().__init__(spec, n_envs, n_groups, seed, episodes)
        if n_workers is not None and n_workers < 1:
            raise SettingsError(f"n_workers is {n_workers}, wanted 1 or more")
        method = start_method if start_method not in (None, "auto") else _usual_method()
        if method not in START_METHODS:
            raise SettingsError(f"start method {method!r} is not known; use auto, {', '.join(START_METHODS)}")
        check_spec(spec)
        self.n_workers = min(n_workers or usable_cores(), n_envs)
        _check_places(self.n_workers, weights, cpus)
        allow_files(self.n_workers)
        self.shares = share_slots(n_envs, self.n_workers, weights)
        self.cpus = processors(self.n_workers, pin_workers) if cpus is None else list(cpus)
        orders = [
            WorkerOrders(worker, slots, n_groups, spec, self.episodes, os.getpid(), memory_limit_mb, cpu)
            for worker, (slots, cpu) in enumerate(zip(self.shares, self.cpus, strict=True))
        ]
        self._supervisor = Supervisor(
            orders,
            start_method=method,
            budget=restarts,
            step_deadline_s=step_deadline_s,
            start_deadline_s=start_deadline_s,
            preload=preload,
            forgives_cuts=forgives_cuts,
        )
        self.restarts = self._supervisor.restarts
        self._supervisor.while_waiting = lambda: self.while_waiting()
        self._step_deadline_s = step_deadline_s
        self._pending: list[set[int]] = [set() for _ in orders]  # per worker: groups it has not finished
        self._pulses: list[tuple[int, float] | None] = [None for _ in orders]  # heartbeats seen, and when
        self._felt_s = 0.0
        self.owner_pid = os.getpid()
        _OPEN_POOLS.add(self)
        try:
            self._open(self.shares)
        except BaseException:
            self.close()
            raise

    def _open(self, shares: list[range]) -> None:
        # A worker makes the first env: a constructor that kills its process must not kill this one.
        self._share(EnvShape(*self._supervisor.start_all(), self.spec.cells), shares)
        self._owners = [self._owners_of(group) for group in range(self.n_groups)]
        self._supervisor.hand_over(_shared(self._mapped[0]), self._attachment(), self.progress)

    def _owners_of(self, group: int) -> list[tuple[WorkerHandle, set[int]]]:
        """Return the workers that have slots of a group, each with its unfinished groups."""
        owners = zip(self._supervisor.handles, self._pending, strict=True)
        return [(handle, left) for handle, left in owners if any(s % self.n_groups == group for s in handle.slots)]

    def _attachment(self) -> Attach:
        blocks = tuple(_shared(block.mapped) for block in self.progress.blocks)
        actor = None if self._actor is None else cloudpickle.dumps(self._actor)
        seen = marks_of(self.observation_space, self.action_space)
        return Attach(blocks, self.metric_names, seen, _shared(self.showcase.mapped), actor)

    def _attach(self) -> None:
        self._supervisor.attach(self._attachment())

    def _announce(self) -> None:
        self._supervisor.announce(self.episodes)

    @property
    def cut(self) -> Set[tuple[int, int]]:
        """Slot and number of every episode that was truncated or skipped because it killed its worker every time."""
        return self._supervisor.cut

    @property
    def worker_pids(self) -> list[int]:
        """The workers' process ids now; none once closed."""
        return [handle.process.pid for handle in self._supervisor.handles if handle.process is not None]

    def _start(self, fragment: Fragment) -> None:
        for handle, pending in self._owners[fragment.group]:
            pending.add(fragment.group)
            handle.send_fragment(fragment)

    def _wait(self, group: int) -> None:
        """Wait for every owner of the group; dead workers are brought back meanwhile."""
        for handle, pending in self._owners[group]:
            while group in pending:
                self._hear(handle)

    def _hear(self, handle: WorkerHandle) -> None:
        """Take what one worker has finished next; after a moment of silence look at all of them."""
        finished = handle.finished_fragments()
        if finished is None:
            return self._feel_pulses(time.monotonic())
        if not finished:
            return self._recover(handle)
        for fragment in finished:
            self._pending[handle.orders.worker].discard(fragment.group)

    def _feel_pulses(self, now: float) -> None:
        """Bring back each worker that is gone, or that has a step to take and has not moved since the deadline."""
        self.while_waiting()
        was_absent, self._felt_s = now - self._felt_s > ABSENCE_S, now
        beats = self.status["beats"]
        for handle in self._supervisor.handles:
            worker = handle.orders.worker
            pulse, count = self._pulses[worker], int(beats[worker])
            if not handle.process.is_alive():
                self._recover(handle)
            elif not self._pending[worker]:
                self._pulses[worker] = None
            elif was_absent or pulse is None or pulse[0] != count:
                self._pulses[worker] = (count, now)
            elif now - pulse[1] > self._step_deadline_s:
                if handle.has_answered():  # it has nothing left to do: another worker was waited for
                    self._hear(handle)
                else:
                    self._recover(handle, self._step_deadline_s)
            else:
                self._supervisor.note_silence(handle, now - pulse[1], self._step_deadline_s)

    def _recover(self, handle: WorkerHandle, hung_s: float | None = None) -> None:
        worker = handle.orders.worker
        try:
            self._supervisor.recover(handle, sorted(self._pending[worker]), hung_s)
        except ParcadeError:
            self.close()
            raise
        self._pulses[worker] = None

    def _flush(self) -> None:
        self._check_open()
        self._supervisor.flush_all()
        for pending in self._pending:
            pending.clear()
        self.progress.forget()

    def _bring_back(self) -> None:
        try:
            self._supervisor.begin_all(self.episodes)
        except ParcadeError:
            self.close()
            raise
        self.progress.note_starts()

    def ask(
        self, slots: Sequence[int], what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[int, tuple[str, Any]]:
        """Return the answer of each slot's env, from its worker."""
        packed = cloudpickle.dumps((args, kwargs))
        calls = [
            (handle, Call(tuple(slot for slot in slots if slot in handle.slots), what, name, packed))
            for handle in self._supervisor.handles
        ]
        calls = [(handle, command) for handle, command in calls if command.slots]
        for handle, command in calls:  # to all of them first: they answer at the same time
            self._send_call(handle, command)
        found: dict[int, tuple[str, Any]] = {}
        for handle, command in calls:
            found.update(zip(command.slots, self._answers(handle, command), strict=True))
        for slot in slots:
            if what == "set" and found[slot][0] == "fine":
                self._supervisor.attributes.setdefault(slot, {})[name] = cloudpickle.dumps(args[0])
        return found

    def _send_call(self, handle: WorkerHandle, command: Call) -> None:
        while self._pending[handle.orders.worker]:
            self._hear(handle)
        with contextlib.suppress(WorkerDiedError):  # found out by who waits for the answer
            self._supervisor.call(handle, command)

    def _answers(self, handle: WorkerHandle, command: Call) -> list[tuple[str, Any]]:
        try:
            return self._supervisor.answers(handle)
        except WorkerDiedError as death:  # perhaps long before this call: the second try tells
            self._recover(handle, death.hung_s)
        try:
            self._send_call(handle, command)
            return self._supervisor.answers(handle)
        except WorkerDiedError as death:
            self._recover(handle, death.hung_s)
        what, slots = f"{command.what} {command.name!r}", ", ".join(map(str, command.slots))
        raise PoolError(f"{what} in slot {slots} ended its worker: {self.restarts[-1]}")

    @property
    def alive(self) -> bool:
        """Whether the pool is open and no worker was given up."""
        return not self._closed and not any(h.life.is_given_up for h in self._supervisor.handles)

    def _end(self, at_once: bool) -> None:
        self._supervisor.close(0.0 if at_once else CLOSING_S)


def _check_places(n_workers: int, weights: Sequence[float] | None, cpus: Sequence[int] | None) -> None:
    for name, given in {"weights": weights, "cpus": cpus}.items():
        if given is not None and len(given) != n_workers:
            raise SettingsError(f"{name} holds {len(given)} numbers, wanted one for each of {n_workers} workers")
    if weights is not None and not min(weights) > 0:
        raise SettingsError(f"weights are {list(weights)}, wanted numbers above 0")


def _shared(mapped: MappedArrays) -> SharedFile:
    return SharedFile(str(mapped.path), mapped.layout)


def _usual_method() -> str:
    return "forkserver" if sys.platform == "linux" else "spawn"


@atexit.register
def _close_open_pools() -> None:
    """Close what nobody closed, before multiprocessing sends SIGTERM, which workers leave to the trainer."""
    for pool in list(_OPEN_POOLS):
        if pool.owner_pid == os.getpid():  # not in a copy of this process
            with contextlib.suppress(Exception):
                pool.close()
