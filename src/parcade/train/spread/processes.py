"""Learners as processes of this machine: how they are started, heard, watched and ended."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import time
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle

from parcade.host.child_process import (
    end_with,
    exit_words,
    ignore_interrupts,
    interrupts_held,
    main_module_hidden,
    name_process,
)
from parcade.pool.mapped import MappedArrays, sweep_stale
from parcade.train.spread.holder import Meeting, ShardHolder
from parcade.train.spread.mapped_exchange import MappedExchange, MappedPlace, exchange_fields
from parcade.train.spread.messages import Death, Failed, LearnerOrders, by_value
from parcade.train.spread.told import Told

log = logging.getLogger("parcade.train")
START_S = 120.0  # what a learner gets to open its games
CLOSING_S = 10.0


class LearnerProcesses:
    """A crew of processes; each answers one command at a time, over a pipe."""

    def __init__(self, orders: list[LearnerOrders], deadline_s: float) -> None:
        self._orders, self._deadline_s = orders, deadline_s
        self._context = multiprocessing.get_context("spawn")
        self._processes: dict[int, Any] = {}
        self._pipes: dict[int, Connection] = {}
        self._asked_s: dict[int, float] = {}  # when each busy learner was last seen to move
        self._beats: dict[int, int] = {}
        self._mapped: MappedArrays | None = None

    def start(self, learner: int) -> None:
        """Start a learner; ``Opened`` is the first thing heard of it."""
        ours, theirs = self._context.Pipe()
        arguments = cloudpickle.dumps(self._orders[learner]), theirs, os.getpid()
        process = self._context.Process(target=run_learner, args=arguments, name=f"parcade-learner-{learner}")
        with interrupts_held(), main_module_hidden():
            process.start()
        theirs.close()
        self._processes[learner], self._pipes[learner] = process, ours
        self._note_asked(learner, START_S)

    def words(self, learner: int) -> str:
        """Return what a learner is called in messages."""
        shards, slots = self._orders[learner].holding.shards, self._orders[learner].holding.slots
        process = self._processes.get(learner)
        pid = "" if process is None else f", pid {process.pid}"
        return f"learner {learner} (shards {shards[0]}-{shards[-1]}, slots {slots[0]}-{slots[-1]}{pid})"

    @property
    def pids(self) -> list[int]:
        """The learners' process ids now."""
        return [process.pid for _, process in sorted(self._processes.items())]

    def place(self, n_shards: int, n_weights: int, n_columns: int) -> MappedPlace:
        """Make the file through which gradients are exchanged."""
        if self._mapped is not None:
            self._mapped.close()
        layout = exchange_fields(n_shards, len(self._orders), n_weights, n_columns)
        self._mapped = MappedArrays.create(layout)
        return MappedPlace(str(self._mapped.path), layout)

    def begin(self, attempt: int) -> None:
        """Let an update begin that all learners are waiting for; none of them is at work."""
        assert self._mapped is not None
        self._mapped.arrays["arrived"][...] = 0
        self._mapped.arrays["attempt"][0] = attempt

    def abandon(self) -> None:
        """Have everybody who waits for another learner give the update up."""
        assert self._mapped is not None
        self._mapped.arrays["attempt"][0] = -1

    def moving(self) -> list[int]:
        """Return nobody: all processes of one machine are where they can be."""
        return []

    def send(self, learner: int, command: Any) -> None:
        """Hand over a command; a learner that is gone is found out by who waits for the answer."""
        self._note_asked(learner, self._deadline_s)
        with contextlib.suppress(OSError):
            self._pipes[learner].send_bytes(by_value(command))

    def _note_asked(self, learner: int, patience_s: float) -> None:
        self._asked_s[learner] = time.monotonic() + patience_s
        self._beats[learner] = self._beat(learner)

    def _beat(self, learner: int) -> int:
        return 0 if self._mapped is None else int(self._mapped.arrays["beats"][learner])

    def receive(self, learners: set[int], timeout_s: float) -> list[tuple[int, Any]]:
        """Return what was heard of these learners, each of which has a command: answers and deaths."""
        by_pipe = {self._pipes[learner]: learner for learner in learners}
        found = []
        for pipe in wait(list(by_pipe), timeout_s):
            assert isinstance(pipe, Connection)
            learner = by_pipe[pipe]
            try:
                told, answer = pickle.loads(pipe.recv_bytes())
                for level, text in told:
                    log.log(level, "%s", text)
                found.append((learner, answer))
            except (EOFError, OSError):
                found.append((learner, Death(self._buried(learner))))
        return found or [(learner, Death(words)) for learner in sorted(learners) if (words := self._hung(learner))]

    def _hung(self, learner: int) -> str | None:
        """End a learner that has not moved for too long; return what is to be said of it."""
        beat, now_s = self._beat(learner), time.monotonic()
        if beat != self._beats[learner]:
            self._beats[learner], self._asked_s[learner] = beat, now_s + self._deadline_s
        if now_s < self._asked_s[learner]:
            return None
        words = f"{self.words(learner)} did not move for {self._deadline_s:g} s and was killed"
        self.end(learner)
        return words

    def _buried(self, learner: int) -> str:
        words, process = self.words(learner), self._processes[learner]
        process.join(CLOSING_S)
        code = process.exitcode
        self.end(learner)
        return f"{words} {exit_words(code)}"

    def end(self, learner: int) -> None:
        """Kill a learner; its workers end with it, and what it shared is removed."""
        process, pipe = self._processes.pop(learner, None), self._pipes.pop(learner, None)
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            process.join(CLOSING_S)
            with contextlib.suppress(ValueError):
                process.close()
        sweep_stale()

    def close(self, *, at_once: bool = False) -> None:
        """End all learners: ask by closing the pipes, then kill; twice is fine."""
        for pipe in self._pipes.values():
            pipe.close()
        until_s = time.monotonic() + (0.0 if at_once else CLOSING_S)
        for process in self._processes.values():
            process.join(max(0.0, until_s - time.monotonic()))
        for learner in list(self._processes):
            self.end(learner)
        if self._mapped is not None:
            self._mapped.close()


def run_learner(packed: bytes, pipe: Connection, trainer_pid: int) -> None:
    """Obey until the trainer closes the pipe."""
    ignore_interrupts()
    orders: LearnerOrders = cloudpickle.loads(packed)
    learner, label = orders.holding.learner, orders.spec.label
    name_process(f"parcade L{learner}:{label}", f"parcade learner {learner}: {label}")
    end_with(trainer_pid)
    Told.install()
    try:
        with contextlib.closing(_opened(orders, pipe)) as holder:
            while True:
                try:
                    command = pickle.loads(pipe.recv_bytes())
                except (EOFError, OSError):
                    return
                _say(pipe, holder.obey(command))
    except Exception as error:
        _say(pipe, Failed(type(error).__name__, str(error), traceback.format_exc()))
        os._exit(1)


def _opened(orders: LearnerOrders, pipe: Connection) -> ShardHolder:
    holding, n_shards = orders.holding, orders.settings.shards

    def open_exchange(place: MappedPlace) -> Meeting:
        mapped = MappedArrays.attach(place.path, place.layout)
        return MappedExchange(mapped, n_shards, holding.shards, holding.learner)

    holder = ShardHolder(orders, open_exchange)
    _say(pipe, holder.opened())
    return holder


def _say(pipe: Connection, answer: Any) -> None:
    try:
        pipe.send_bytes(by_value((Told.drained(), answer)))
    except OSError:
        os._exit(0)  # the trainer is gone
