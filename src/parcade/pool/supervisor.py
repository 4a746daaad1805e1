"""Starts worker processes, notices their deaths, brings their slots back."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from parcade.errors import EnvError, PoolError
from parcade.pool.journal import Journal
from parcade.pool.lifecycle import (
    Answered,
    Cause,
    Died,
    GiveUp,
    Life,
    Place,
    Restart,
    advance,
    cause_of_exit,
)
from parcade.pool.slab import Slab
from parcade.pool.stepping import Actions
from parcade.pool.worker import TALK, Finish, Restore, WorkerOrders, run_worker

log = logging.getLogger("parcade.pool")


class WorkerDied(Exception):
    """Inside the pool only: a worker was found dead."""


@dataclass(slots=True)
class Seat:
    """A worker's place in the pool: its orders, its process, its pipes, its record."""

    orders: WorkerOrders
    life: Life
    process: Any = None
    bell: Connection | None = None
    talk: Connection | None = None
    told: tuple[str, str, str] | None = None  # the exception the worker reported before it ended

    @property
    def fd(self) -> int:
        """The bell's file descriptor."""
        assert self.bell is not None
        return self.bell.fileno()


class Supervisor:
    """The actor around ``lifecycle.advance``; one per pool."""

    def __init__(
        self,
        orders: list[WorkerOrders],
        slab: Slab,
        journal: Journal,
        *,
        start_method: str,
        budget: int,
        step_deadline_s: float,
        start_deadline_s: float,
    ) -> None:
        self.seats = [Seat(order, Life()) for order in orders]
        self.restarts: list[str] = []  # every death in words
        self.cut_episodes = 0
        self._poisoned: set[tuple[int, int]] = set()  # (slot, episode) whose reset kills
        self._slab, self._journal = slab, journal
        self._context: Any = multiprocessing.get_context(start_method)
        if start_method == "forkserver":
            self._context.set_forkserver_preload(["parcade.pool.worker", "parcade.console.gameboy"])
        self._start_method = start_method
        self._budget = budget
        self._step_deadline_s, self._start_deadline_s = step_deadline_s, start_deadline_s

    def start_all(self) -> None:
        """Start every worker; an env that cannot be made is an error of the user's, told at once."""
        for seat in self.seats:
            self._launch(seat)
        for seat in self.seats:
            while True:
                try:
                    self._await_ready(seat)
                    break
                except WorkerDied:
                    self._bury_and_relaunch(seat)

    def begin_all(self, starts: dict[int, tuple[int, Actions]]) -> None:
        """Bring every slot to (episode, after these actions); no step is under way."""
        for seat in self.seats:
            with contextlib.suppress(WorkerDied):
                self._command(seat, Restore({s: starts[s] for s in seat.orders.slots}, frozenset(self._poisoned)))
        for seat in self.seats:
            try:
                self._await_word(seat, "restored", self._step_deadline_s)
            except WorkerDied as death:
                self.recover(seat, {}, hung=death.args[0] == "hung")

    def recover(self, seat: Seat, pending: dict[int, int], hung: bool = False) -> None:
        """Bring a dead (or hung) worker's slots back exactly; ``pending`` maps groups under way to their step count.

        Returns when the worker lives, stands where it stood and works on the pending groups again.
        """
        cut: list[Place] = []
        while True:
            order = self._bury(seat, hung)
            if order.cut is not None:
                cut.append(order.cut)
            time.sleep(order.pause_s)
            try:
                self._launch(seat)
                self._await_ready(seat)
                self._restore(seat, pending, cut)
                return
            except WorkerDied as death:
                hung = death.args[0] == "hung"

    def _restore(self, seat: Seat, pending: dict[int, int], cut: list[Place]) -> None:
        """Replay each slot to the last step whose row is complete, then ask for the steps under way."""
        journal, arrays = self._journal, self._slab.arrays
        slots, unfinished = {}, []
        for slot in seat.orders.slots:
            group = slot % seat.orders.n_groups
            episode, steps = int(journal.episode[slot]), int(journal.length[slot])
            if group in pending and int(arrays["steps_done"][slot]) < pending[group]:
                unfinished.append(slot)
                steps -= 1
            elif group in pending and (arrays["terminated"][slot] or arrays["truncated"][slot]):
                # Its step is complete and ended the episode; nobody has seen it yet.
                episode, steps = int(arrays["episode"][slot]), 0
            slots[slot] = (episode, journal.actions(slot, steps))
        for place in cut:
            if place.step < 0:
                self._poisoned.add((place.slot, place.episode))
        self._command(seat, Restore(slots, frozenset(self._poisoned)))
        self._await_word(seat, "restored", self._step_deadline_s)
        for group in pending:
            mine = tuple(slot for slot in unfinished if slot % seat.orders.n_groups == group)
            last_words = {place.slot: place.episode for place in cut if place.step >= 0}
            doomed = tuple(slot for slot in mine if last_words.get(slot) == slots[slot][0])
            self._command(seat, Finish(group, mine, doomed))

    def answered(self, seat: Seat) -> None:
        """Note that the worker finished a batch."""
        seat.life, _ = advance(seat.life, Answered(), self._budget)

    def _launch(self, seat: Seat) -> None:
        bell, worker_bell = self._context.Pipe()
        talk, worker_talk = self._context.Pipe()
        inherited: tuple[int, ...] = ()
        if self._start_method == "fork":
            ours = [c for s in self.seats if s is not seat for c in (s.bell, s.talk) if c is not None and not c.closed]
            inherited = tuple(c.fileno() for c in (*ours, bell, talk))
        orders = replace(seat.orders, inherited_fds=inherited)
        name = f"parcade-worker-{seat.orders.worker}"
        process = self._context.Process(
            target=run_worker, args=(orders, worker_bell, worker_talk), name=name, daemon=True
        )
        try:
            with _main_module_hidden():
                process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvError(f"the env cannot be sent to a worker: {error}; build it inside a factory function") from None
        except OSError as error:
            raise PoolError(f"worker {seat.orders.worker} cannot be started: {error.strerror}") from None
        worker_bell.close()
        worker_talk.close()
        seat.process, seat.bell, seat.talk, seat.told = process, bell, talk, None

    def _command(self, seat: Seat, command: Any) -> None:
        assert seat.talk is not None
        try:
            seat.talk.send(command)
            os.write(seat.fd, TALK)
        except OSError:
            raise WorkerDied("died") from None

    def call(self, seat: Seat, command: Any) -> Any:
        """Send a command to an idle worker and return its answer."""
        self._command(seat, command)
        return self._await_word(seat, None, self._step_deadline_s)

    def _await_ready(self, seat: Seat) -> None:
        self._await_word(seat, "ready", self._start_deadline_s)

    def _await_word(self, seat: Seat, word: str | None, deadline_s: float) -> Any:
        """Wait for an answer as long as the worker's heart beats."""
        assert seat.talk is not None
        beats = self._slab.arrays["beats"]
        last, since = int(beats[seat.orders.worker]), time.monotonic()
        while True:
            if seat.talk.poll(0.2):
                try:
                    answer = seat.talk.recv()
                except (EOFError, OSError):
                    raise WorkerDied("died") from None
                if word is None or answer == word:
                    return answer
                _keep_told(seat, answer)
                raise WorkerDied("died")
            now_beats = int(beats[seat.orders.worker])
            if now_beats != last:
                last, since = now_beats, time.monotonic()
            elif not seat.process.is_alive() and not seat.talk.poll(0):
                raise WorkerDied("died")
            elif time.monotonic() - since > deadline_s:
                raise WorkerDied("hung")

    def _bury_and_relaunch(self, seat: Seat) -> None:
        """A worker died before its first step: no run depends on it yet, so tell the user's own error at once."""
        cause, place = self._autopsy(seat, hung=False)
        if cause.kind == "raised":
            where = f" in slot {place.slot}" if place else ""
            raise EnvError(f"the env {seat.orders.spec.label!r} cannot be made{where}: {cause.words}")
        self._decide(seat, cause, place)
        self._launch(seat)

    def _bury(self, seat: Seat, hung: bool) -> Restart:
        cause, place = self._autopsy(seat, hung)
        return self._decide(seat, cause, place)

    def _decide(self, seat: Seat, cause: Cause, place: Place | None) -> Restart:
        pid = seat.process.pid
        seat.life, order = advance(seat.life, Died(cause, place), self._budget)
        words = self._words(seat, pid, cause, place)
        if isinstance(order, GiveUp):
            raise PoolError(f"{words}; it died {seat.life.strikes} times in a row, more than {self._budget} restarts")
        assert isinstance(order, Restart)
        used = f"restored exactly ({seat.life.strikes} of {self._budget} restarts used)"
        if order.cut is not None:
            self.cut_episodes += 1
            used = "the same step killed it before, so the episode is truncated there"
        words += f"; {used}"
        self.restarts.append(words)
        log.warning("%s", words)
        return order

    def _words(self, seat: Seat, pid: int, cause: Cause, place: Place | None) -> str:
        slots = seat.orders.slots
        where = ""
        if place is not None:
            step = "its reset" if place.step < 0 else f"step {place.step}"
            where = f" in slot {place.slot} at {step} of episode {place.episode} of {seat.orders.spec.label!r}"
        return f"worker {seat.orders.worker} (slots {slots.start}-{slots.stop - 1}, pid {pid}) {cause.words}{where}"

    def _autopsy(self, seat: Seat, hung: bool) -> tuple[Cause, Place | None]:
        """Make sure the process is gone; return why it died and in which slot."""
        message = _read_told(seat)
        if hung:
            seat.process.kill()
        seat.process.join(5.0)
        if seat.process.is_alive():
            seat.process.kill()
            seat.process.join(5.0)
        exit_code = seat.process.exitcode
        for pipe in (seat.bell, seat.talk):
            if pipe is not None:
                pipe.close()
        slot = int(self._slab.arrays["current_slot"][seat.orders.worker])
        place = None
        if slot >= 0:
            arrays = self._slab.arrays
            place = Place(slot, int(arrays["episode"][slot]), int(arrays["running_length"][slot]))
        if hung:
            return Cause("hang", f"did not move for {self._step_deadline_s:g} s and was killed", True), place
        if message is not None:
            name, text, trace = message
            log.debug("%s", trace)
            kind = "memory" if name == "MemoryError" else "raised"
            return Cause(kind, f"raised {name}: {text}" if text else f"raised {name}"), place
        return cause_of_exit(exit_code), place

    def close(self, deadline_s: float = 5.0) -> None:
        """End all workers: ask by closing the bell, then kill."""
        for seat in self.seats:
            for pipe in (seat.bell, seat.talk):
                if pipe is not None:
                    pipe.close()
        until = time.monotonic() + deadline_s
        for seat in self.seats:
            if seat.process is not None:
                seat.process.join(max(0.0, until - time.monotonic()))
                if seat.process.is_alive():
                    seat.process.kill()
                    seat.process.join(5.0)
                seat.process.close()
                seat.process = None


def _read_told(seat: Seat) -> tuple[str, str, str] | None:
    """Return the exception a worker reported before it ended, if any."""
    with contextlib.suppress(EOFError, OSError):
        while seat.told is None and seat.talk is not None and seat.talk.poll(0.1):
            _keep_told(seat, seat.talk.recv())
    return seat.told


def _keep_told(seat: Seat, answer: Any) -> None:
    if isinstance(answer, tuple) and len(answer) == 3:
        seat.told = answer


@contextlib.contextmanager
def _main_module_hidden() -> Iterator[None]:
    """Keep workers from running the user's script again: envs travel by value, so they never need it.

    Without this, spawn and forkserver import ``__main__`` in every worker, and a script without the
    ``if __name__ == "__main__"`` guard starts itself over and over.
    """
    main = sys.modules["__main__"]
    kept = {name: main.__dict__[name] for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(kept)
