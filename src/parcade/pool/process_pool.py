"""Slots spread over worker processes, stepped over one slab."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import cloudpickle
import numpy as np

from parcade.cores import usable_cores
from parcade.env.make import check_spec
from parcade.env.spec import EnvSpec
from parcade.errors import ParcadeError, PoolError, SettingsError
from parcade.pool.calling import check_call, result
from parcade.pool.grouping import GroupedRows, check_counts
from parcade.pool.journal import Slots
from parcade.pool.launching import GLANCE_S, Seat
from parcade.pool.layout import plan_layout
from parcade.pool.lifecycle import Phase
from parcade.pool.limits import allow_files
from parcade.pool.protocol import Array, Player, StepRows, StretchRows
from parcade.pool.sharing import processors, share_slots
from parcade.pool.slab import Slab
from parcade.pool.stretch import Stretch
from parcade.pool.supervisor import Supervisor, WorkerDiedError
from parcade.pool.worker import BELL, STRETCH, Call, WorkerOrders

START_METHODS = ("forkserver", "spawn", "fork")
_OPEN_POOLS: weakref.WeakSet[ProcessPool] = weakref.WeakSet()
ABSENCE_S = 2.0  # a longer gap means that this process was elsewhere (learning, stopped), not that workers hang


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
        pin_workers: bool | None = None,
    ) -> None:
        check_counts(n_envs, n_groups)
        if n_workers is not None and n_workers < 1:
            raise SettingsError(f"n_workers is {n_workers}, wanted 1 or more")
        method = start_method or ("forkserver" if sys.platform == "linux" else "spawn")
        if method not in START_METHODS:
            raise SettingsError(f"start method {method!r} is not known; use {', '.join(START_METHODS)}")
        check_spec(spec)
        self.spec, self.n_envs, self.n_groups, self.seed = spec, n_envs, n_groups, seed
        self.n_workers = min(n_workers or usable_cores(), n_envs)
        allow_files(self.n_workers)
        orders = [
            WorkerOrders(w, slots, n_groups, spec, seed, os.getpid(), memory_limit_mb, cpu)
            for w, (slots, cpu) in enumerate(
                zip(share_slots(n_envs, self.n_workers), processors(self.n_workers, pin_workers), strict=True)
            )
        ]
        self._supervisor = Supervisor(
            orders,
            start_method=method,
            budget=restarts,
            step_deadline_s=step_deadline_s,
            start_deadline_s=start_deadline_s,
        )
        self._step_deadline_s = step_deadline_s
        self._bells = [BELL.pack(group) for group in range(n_groups)]
        self._pending: list[set[int]] = [set() for _ in orders]  # per worker: groups it has not answered
        self._owners = [self._owners_of(group) for group in range(n_groups)]
        self._answered: dict[int, None] = {}  # first come: slots that are ready, in that order
        self._first_come = n_groups == n_envs
        self._pulses: list[tuple[int, float] | None] = [None for _ in orders]  # heartbeats seen, and when
        self._felt_s = 0.0
        self._slab: Slab | None = None
        self._stretch: Stretch | None = None
        self._closed, self.owner_pid = False, os.getpid()
        _OPEN_POOLS.add(self)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        # A worker makes the first env: a constructor that kills its process must not kill this one.
        self.observation_space, self.action_space, self.metric_names = self._supervisor.start_all()
        spaces = (self.observation_space, self.action_space, self.metric_names)
        self._slab = Slab.create(plan_layout(*spaces, self.n_envs, self.n_workers))
        self.groups = GroupedRows(self._slab, self.n_envs, self.n_groups, self.action_space)
        self._supervisor.hand_over(self._slab, self.groups)
        self._listen()

    def _owners_of(self, group: int) -> list[tuple[Seat, set[int]]]:
        """Return the workers that have slots of a group, each with its unanswered groups."""
        seats = zip(self._supervisor.seats, self._pending, strict=True)
        return [(seat, left) for seat, left in seats if any(s % self.n_groups == group for s in seat.orders.slots)]

    def _listen(self) -> None:
        self._poll = select.poll()
        for seat in self._supervisor.seats:
            self._poll.register(seat.fd, select.POLLIN)
        self._seat_of = {seat.fd: seat for seat in self._supervisor.seats}

    @property
    def slab(self) -> Slab:
        """The block all rows live in."""
        assert self._slab is not None
        return self._slab

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
        """The workers' process ids now; none once closed."""
        return [seat.process.pid for seat in self._supervisor.seats if seat.process is not None]

    def reset(self, seed: int | None = None, *, onward: bool = False) -> None:
        """Begin episode 0 in every slot (``onward``: the episode after the present one); ``seed`` is a new run seed."""
        self._settle()
        if seed is not None:
            self.seed = seed
        journal = self.groups.journal
        journal.begin_anew(journal.episode + 1 if onward else 0)
        self._bring_back()

    def observations(self, group: int = 0) -> Mapping[str, Array]:
        """Return the present observation rows of a group."""
        return self.groups.rows(group).obs

    def send(self, actions: Any, group: int = 0) -> None:
        """Write the actions, ring each worker's bell, return at once."""
        self._check_open()
        self.groups.note_actions(actions, group)
        bell = self._bells[group]
        for seat, pending in self._owners[group]:
            pending.add(group)
            self._ring(seat, bell)

    def _ring(self, seat: Seat, bell: bytes) -> None:
        try:
            os.write(seat.fd, bell)
        except OSError:
            pass  # it is dead; recv finds out, names it and brings it back

    def recv(self, group: int = 0) -> StepRows:
        """Wait until every slot of the group has taken its step; dead workers are brought back meanwhile."""
        self._check_open()
        self.groups.expect(group)
        for seat, pending in self._owners[group]:
            while group in pending:
                self._hear(seat)
        if self._first_come:
            self._answered.pop(group, None)
        return self.groups.finish(group)

    def send_to(self, slots: Slots | Iterable[int], actions: Any) -> None:
        """First come: hand one action to each of ``slots`` and return at once; needs ``n_groups == n_envs``."""
        self._check_open()
        self._check_first_come()
        slots = np.asarray(slots, np.int64)
        self.groups.note_actions_of(slots, actions)
        for slot in slots:
            seat, pending = self._owners[slot][0]
            pending.add(int(slot))
            self._ring(seat, self._bells[slot])

    def recv_first(self, k: int) -> tuple[Slots, StepRows]:
        """First come: wait until k slots have taken their steps; return which, and copies of their rows.

        Which slots come first depends on the clock: what is learnt from them is not the same twice.
        """
        self._check_open()
        self._check_first_come()
        asked = sum(self.groups.under_way)
        if not 1 <= k <= asked:
            raise PoolError(f"k is {k}, wanted 1 to the number of slots under way ({asked})")
        while len(self._answered) < k:
            self._wait()
        slots = np.fromiter(self._answered, np.int64, k)
        for slot in slots:
            del self._answered[int(slot)]
        return slots, self.groups.finish_slots(slots)

    def make_room(self, player: Player, n_steps: int) -> None:
        """Make the block that stretches of this length need."""
        self._stretch = Stretch.following(self._stretch, self.slab, self.groups, player, n_steps)

    def play(self, player: Player, weights: Array, seed: int, n_steps: int) -> StretchRows:
        """Let every worker step its slots with the player's actions; a dead one goes on where it stood."""
        self._check_open()
        self.make_room(player, n_steps)
        stretch = self._stretch
        assert stretch is not None
        stretch.begin(weights, seed)
        self._supervisor.stretch = stretch
        for seat, pending in zip(self._supervisor.seats, self._pending, strict=True):
            pending.add(STRETCH)
            with contextlib.suppress(WorkerDiedError):  # _hear finds out, names it and brings it back
                self._supervisor.play(seat)
        for seat, pending in zip(self._supervisor.seats, self._pending, strict=True):
            while pending:
                self._hear(seat)
        self._supervisor.stretch = None
        return stretch.finish()

    def _check_first_come(self) -> None:
        if not self._first_come:
            raise SettingsError(f"first come needs n_groups == n_envs, got {self.n_groups} and {self.n_envs}")

    def _check_open(self) -> None:
        if self._closed:
            raise PoolError("the pool is closed")

    def _wait(self) -> None:
        """Take what any worker says next, or find out why none does."""
        events = self._poll.poll(min(GLANCE_S, self._step_deadline_s / 4) * 1000)
        for fd, _ in events:
            self._hear(self._seat_of[fd])
        if not events:
            self._feel_pulses(time.monotonic())

    def _hear(self, seat: Seat) -> None:
        """Take what one worker says next; after a moment of silence look at all of them."""
        said = seat.read_bells()
        if said is None:
            return self._feel_pulses(time.monotonic())
        if not said:
            return self._recover(seat)
        for (group,) in BELL.iter_unpack(said):
            self._pending[seat.orders.worker].discard(group)
            if group == STRETCH:
                assert self._stretch is not None
                seat.batches += self._stretch.newly_taken(seat.orders.worker)
                continue
            seat.batches += 1
            if self._first_come:
                self._answered[group] = None

    def _feel_pulses(self, now: float) -> None:
        """Bring back each worker that is gone, or that has a step to take and has not moved since the deadline."""
        was_absent, self._felt_s = now - self._felt_s > ABSENCE_S, now
        beats = self.slab.arrays["beats"]
        for seat in self._supervisor.seats:
            worker = seat.orders.worker
            pulse, count = self._pulses[worker], int(beats[worker])
            if not seat.process.is_alive():
                self._recover(seat)
            elif not self._pending[worker]:
                self._pulses[worker] = None
            elif was_absent or pulse is None or pulse[0] != count:
                self._pulses[worker] = (count, now)
            elif now - pulse[1] > self._step_deadline_s:
                if seat.has_rung():  # it has nothing left to do: recv was waiting for another worker
                    self._hear(seat)
                else:
                    self._recover(seat, self._step_deadline_s)

    def _recover(self, seat: Seat, hung_s: float | None = None) -> None:
        worker = seat.orders.worker
        try:
            self._supervisor.recover(seat, sorted(self._pending[worker]), hung_s)
        except ParcadeError:
            self.close()
            raise
        self._pulses[worker] = None
        self._listen()

    def _settle(self) -> None:
        """Wait for the steps under way and forget them; holds also after a Ctrl-C in the middle of send or recv."""
        self._check_open()
        self._supervisor.settle_all()
        self._supervisor.stretch = None
        self._answered.clear()
        for pending in self._pending:
            pending.clear()
        self.groups.forget_steps()

    def dump(self) -> dict[str, Array]:
        """Return the journal; no step may be under way."""
        if any(self.groups.under_way):
            raise PoolError("a pool can be dumped only between recv and send")
        return {"run_seed": np.array([self.seed], np.int64), **self.groups.journal.dump()}

    def load(self, arrays: dict[str, Array]) -> None:
        """Replay every slot to where ``dump`` found it."""
        self._settle()
        self.groups.journal.load(arrays)
        if "run_seed" in arrays:
            self.seed = int(arrays["run_seed"][0])
        self._bring_back()

    def _bring_back(self) -> None:
        try:
            self._supervisor.begin_all(self.seed)
        except ParcadeError:
            self.close()
            raise
        self._listen()
        self.groups.note_starts()

    def call(self, slot: int, what: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one slot's env (what="call"), get or set an attribute, or ask for a wrapper ("wrapped").

        What was set is set again in a worker that had to be restarted; what a method changed is not.
        """
        self._check_open()
        check_call(what, slot, self.n_envs)
        seat = next(seat for seat in self._supervisor.seats if slot in seat.orders.slots)
        command = Call(slot, what, name, cloudpickle.dumps((args, kwargs)))
        for _ in range(2):
            while self._pending[seat.orders.worker]:
                self._wait()
            try:
                answered = self._supervisor.call(seat, command)
            except WorkerDiedError as death:  # perhaps long before this call: the second try tells
                self._recover(seat, death.hung_s)
                continue
            if what == "set" and answered[0] == "fine":
                self._supervisor.attributes.setdefault(slot, {})[name] = cloudpickle.dumps(args[0])
            return result(slot, what, name, answered)
        raise PoolError(f"{what} {name!r} in slot {slot} ended its worker: {self.restarts[-1]}")

    @property
    def alive(self) -> bool:
        """Whether the pool is open and no worker was given up."""
        return not self._closed and all(s.life.phase is not Phase.GIVEN_UP for s in self._supervisor.seats)

    def close(self) -> None:
        """End all workers and remove the slab, in bounded time; twice is fine."""
        if not self._closed:
            self._closed = True
            self._supervisor.close()
            if self._stretch is not None:
                self._stretch.close()
            if self._slab is not None:
                self._slab.close()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@atexit.register
def _close_open_pools() -> None:
    """Close what nobody closed, before multiprocessing sends SIGTERM, which workers leave to the trainer."""
    for pool in list(_OPEN_POOLS):
        if pool.owner_pid == os.getpid():  # not in a copy of this process
            pool.close()
