"""Slots spread over worker processes, stepped over one slab."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping
from typing import Any

from parcade.env.make import check_spec, make
from parcade.env.slot import as_slot_env
from parcade.env.spec import EnvSpec
from parcade.errors import PoolError, SettingsError
from parcade.pool.grouping import GroupedRows, check_counts
from parcade.pool.layout import plan_layout
from parcade.pool.lifecycle import Phase
from parcade.pool.protocol import Array, StepRows
from parcade.pool.slab import Slab
from parcade.pool.supervisor import Seat, Supervisor
from parcade.pool.worker import BELL, Call, WorkerOrders

START_METHODS = ("forkserver", "spawn", "fork")


class ProcessPool:
    """A pool of worker processes; see ``Pool`` for the contract.

    A worker that dies or hangs is named, started again and brought back exactly where it was: what ``recv``
    returns is the same as if nothing had happened.
    """

    def __init__(
        self,
        spec: EnvSpec,
        n_envs: int,
        *,
        n_workers: int | None = None,
        seed: int = 0,
        n_groups: int = 1,
        start_method: str | None = None,
        restarts: int = 5,
        step_deadline_s: float = 60.0,
        start_deadline_s: float = 120.0,
        memory_limit_mb: int | None = None,
    ) -> None:
        check_counts(n_envs, n_groups)
        method = start_method or ("forkserver" if sys.platform == "linux" else "spawn")
        if method not in START_METHODS:
            raise SettingsError(f"start method {method!r} is not known; use {', '.join(START_METHODS)}")
        check_spec(spec)
        self.spec, self.n_envs, self.n_groups = spec, n_envs, n_groups
        self.n_workers = min(n_workers or os.cpu_count() or 1, n_envs)
        self._closed = False
        self.observation_space, self.action_space, self.metric_names = spaces_of(spec)
        layout = plan_layout(self.observation_space, self.action_space, self.metric_names, n_envs, self.n_workers)
        self.slab = Slab.create(layout)
        self.groups = GroupedRows(self.slab, n_envs, n_groups, self.action_space)
        self._step_deadline_s = step_deadline_s
        self._steps_sent = [0] * n_groups
        orders = [
            WorkerOrders(w, slots, n_groups, spec, seed, str(self.slab.path), layout, os.getpid(), memory_limit_mb, ())
            for w, slots in enumerate(share_slots(n_envs, self.n_workers))
        ]
        self._supervisor = Supervisor(
            orders,
            self.slab,
            self.groups.journal,
            start_method=method,
            budget=restarts,
            step_deadline_s=step_deadline_s,
            start_deadline_s=start_deadline_s,
        )
        self._owners = [self._owners_of(group) for group in range(n_groups)]
        self._pending: list[dict[int, int]] = [{} for _ in orders]  # per worker: group -> its step count
        try:
            self._supervisor.start_all()
            self._poll = self._new_poll()
        except BaseException:
            self.close()
            raise

    def _owners_of(self, group: int) -> list[Seat]:
        seats = self._supervisor.seats
        return [seat for seat in seats if any(slot % self.n_groups == group for slot in seat.orders.slots)]

    def _new_poll(self) -> Any:
        poll = select.poll()
        for seat in self._supervisor.seats:
            poll.register(seat.fd, select.POLLIN)
        self._seat_of = {seat.fd: seat for seat in self._supervisor.seats}
        return poll

    @property
    def restarts(self) -> list[str]:
        """Every death so far, in words."""
        return self._supervisor.restarts

    @property
    def cut_episodes(self) -> int:
        """Episodes truncated because a step killed its worker every time."""
        return self._supervisor.cut_episodes

    @property
    def worker_pids(self) -> list[int]:
        """The workers' process ids now."""
        return [seat.process.pid for seat in self._supervisor.seats]

    def reset(self) -> None:
        """Begin episode 0 in every slot."""
        self._drain()
        journal = self.groups.journal
        journal.episode[:] = journal.length[:] = 0
        self._bring_back()

    def observations(self, group: int = 0) -> Mapping[str, Array]:
        """Return the present observation rows of a group."""
        return self.groups.rows(group).obs

    def send(self, actions: Any, group: int = 0) -> None:
        """Write the actions, ring each worker's bell, return at once."""
        self.groups.note_actions(actions, group)
        self._steps_sent[group] += 1
        bell = BELL.pack(group)
        for seat in self._owners[group]:
            self._pending[seat.orders.worker][group] = self._steps_sent[group]
            try:
                os.write(seat.fd, bell)
            except OSError:
                pass  # it is dead; recv finds out, names it and brings it back

    def recv(self, group: int = 0) -> StepRows:
        """Wait until every slot of the group has taken its step; dead workers are brought back meanwhile."""
        pending = self._pending
        for seat in self._owners[group]:
            while group in pending[seat.orders.worker]:
                self._wait()
        self.groups.note_ends(group)
        return self.groups.rows(group)

    def _wait(self) -> None:
        """Take what any worker says next, or find out why none does."""
        since, beats = time.monotonic(), self.slab.arrays["beats"].copy()
        while True:
            events = self._poll.poll(500)
            for fd, _ in events:
                self._hear(self._seat_of[fd], fd)
            if events:
                return
            for seat in self._supervisor.seats:
                if not seat.process.is_alive():
                    return self._recover(seat)
            now_beats = self.slab.arrays["beats"]
            if (now_beats != beats).any():
                beats, since = now_beats.copy(), time.monotonic()
            elif time.monotonic() - since > self._step_deadline_s:
                return self._recover_hung()

    def _hear(self, seat: Seat, fd: int) -> None:
        try:
            said = os.read(fd, 64 * BELL.size)
        except OSError:
            said = b""
        if not said:
            return self._recover(seat)
        for (group,) in BELL.iter_unpack(said):
            self._pending[seat.orders.worker].pop(group, None)
            self._supervisor.answered(seat)

    def _recover_hung(self) -> None:
        for seat in self._supervisor.seats:
            if self._pending[seat.orders.worker]:
                self._recover(seat, hung=True)

    def _recover(self, seat: Seat, hung: bool = False) -> None:
        try:
            self._supervisor.recover(seat, dict(self._pending[seat.orders.worker]), hung)
        except PoolError:
            self.close()
            raise
        self._poll = self._new_poll()

    def _drain(self) -> None:
        for group in range(self.n_groups):
            if any(group in pending for pending in self._pending):
                self.recv(group)

    def dump(self) -> dict[str, Array]:
        """Return the journal; no step may be under way."""
        if any(self._pending):
            raise PoolError("a pool can be dumped only between recv and send")
        return self.groups.journal.dump()

    def load(self, arrays: dict[str, Array]) -> None:
        """Replay every slot to where ``dump`` found it."""
        self._drain()
        self.groups.journal.load(arrays)
        self._bring_back()

    def _bring_back(self) -> None:
        try:
            self._supervisor.begin_all(self.groups.journal.starts())
        except PoolError:
            self.close()
            raise
        self._poll = self._new_poll()
        self.groups.note_starts()

    def call(self, slot: int, what: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one slot's env (what="call"), or get or set an attribute; no step may be under way."""
        self._drain()
        seat = next(seat for seat in self._supervisor.seats if slot in seat.orders.slots)
        fine, answer = self._supervisor.call(seat, Call(slot, what, name, args, tuple(kwargs.items())))
        if not fine:
            raise PoolError(f"{what} {name!r} in slot {slot} failed: {answer}")
        return answer

    @property
    def alive(self) -> bool:
        """Whether the pool is open and no worker was given up."""
        return not self._closed and all(s.life.phase is not Phase.GIVEN_UP for s in self._supervisor.seats)

    def close(self) -> None:
        """End all workers and remove the slab, in bounded time; twice is fine."""
        if not self._closed:
            self._closed = True
            self._supervisor.close()
            self.slab.close()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def share_slots(n_envs: int, n_workers: int) -> list[range]:
    """Return contiguous ranges that differ by one slot at most.

    >>> share_slots(5, 2)
    [range(0, 3), range(3, 5)]
    """
    small, extra = divmod(n_envs, n_workers)
    starts = [worker * small + min(worker, extra) for worker in range(n_workers + 1)]
    return [range(a, b) for a, b in zip(starts, starts[1:], strict=False)]


def spaces_of(spec: EnvSpec) -> tuple[Any, Any, tuple[str, ...]]:
    """Return observation space, action space and metric names of an env, made once here and closed again."""
    env = as_slot_env(make(spec))
    try:
        return env.observation_space, env.action_space, env.metric_names
    finally:
        env.close()
