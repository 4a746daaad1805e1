"""Worker processes as the trainer holds them: started, talked to, buried."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import cv2

from parcade.env.make import make_game
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, PoolError
from parcade.pool.lifecycle import Life
from parcade.pool.worker import BELL, FOR_THE_TRAINER, TALK, WorkerOrders, run_worker

_OPEN_ENDS: weakref.WeakSet[Connection] = weakref.WeakSet()  # the trainer's ends of all pools' pipes
BURIAL_S = 5.0
GLANCE_S = 0.5  # how long the trainer listens to one bell before it looks at all workers


@dataclass(slots=True)
class Seat:
    """A worker's place in the pool: its orders, its process, its pipes, its record."""

    orders: WorkerOrders
    life: Life = field(default_factory=Life)
    batches: int = 0  # answered since the last event of its life
    process: Any = None
    bell: Connection | None = None
    fd: int = -1  # the bell's file descriptor
    talk: Connection | None = None
    serial: int = 0  # of the last command; an answer to an earlier one is nobody's any more
    told: tuple[str, str, str, str] | None = None  # kind, name, text and trace of what the worker raised

    def tell(self, message: Any) -> None:
        """Send something the worker waits for."""
        assert self.talk is not None
        self.talk.send(message)

    def command(self, command: Any) -> None:
        """Ring, then send a command: one larger than the pipe is read while it is being written."""
        self.serial += 1
        os.write(self.fd, TALK)
        self.tell((self.serial, command))

    def has_word(self, timeout_s: float) -> bool:
        """Wait for the worker to say something (or to close its pipe)."""
        assert self.talk is not None
        return self.talk.poll(timeout_s)

    def hear(self) -> tuple[str, int, Any]:
        """Return a word of the worker's, which command it answers, and what came with it."""
        assert self.talk is not None
        said: tuple[str, int, Any] = self.talk.recv()
        return said

    def has_rung(self) -> bool:
        """Whether the worker has rung (or closed its end) and nobody has listened yet."""
        assert self.bell is not None
        return self.bell.poll(0)

    def read_bells(self) -> bytes | None:
        """Wait a moment for the worker to ring; return what it rang, None for nothing, b"" for a closed end."""
        try:
            return os.read(self.fd, 64 * BELL.size)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def forget_bells(self) -> None:
        """Throw away what the worker rang."""
        while self.has_rung() and self.read_bells():
            pass

    def bury(self, kill_now: bool) -> int | None:
        """Make sure the process is gone, take its last words, close its pipes; return its exit code."""
        if kill_now:
            self.process.kill()
        self._take_last_words()
        self.process.join(BURIAL_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(BURIAL_S)
        self.hang_up()
        code: int | None = self.process.exitcode
        return code

    def _take_last_words(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self.told is None and self.talk is not None and self.has_word(0.1):
                said, _, payload = self.hear()
                if said == "raised":
                    self.told = payload

    def hang_up(self) -> None:
        """Close the pipes: a worker that lives ends by itself."""
        for pipe in (self.bell, self.talk):
            if pipe is not None:
                pipe.close()


class Launcher:
    """Starts the processes of one pool's seats."""

    def __init__(self, seats: list[Seat], start_method: str, patience_s: float) -> None:
        self._seats, self._start_method, self._patience_s = seats, start_method, patience_s
        self._context: Any = multiprocessing.get_context(start_method)
        if start_method == "forkserver":
            self._context.set_forkserver_preload(_preloads(seats[0].orders.spec))

    def launch(self, seat: Seat) -> None:
        """Start the seat's process with fresh pipes."""
        packed = self._pack(seat.orders)
        ends: list[Connection] = []
        try:
            ends += self._context.Pipe()
            ends += self._context.Pipe()
            bell, worker_bell, talk, worker_talk = ends
            if self._start_method == "fork":
                inherited = tuple(end.fileno() for end in (*_OPEN_ENDS, bell, talk) if not end.closed)
                packed = self._pack(replace(seat.orders, inherited_fds=inherited))
            _bound_waits(talk, self._patience_s, socket.SO_SNDTIMEO, socket.SO_RCVTIMEO)
            _bound_waits(bell, min(GLANCE_S, self._patience_s / 4), socket.SO_RCVTIMEO)
            process = self._context.Process(
                target=run_worker,
                args=(packed, worker_bell, worker_talk),
                name=f"parcade-worker-{seat.orders.worker}",
                daemon=True,
            )
            with (
                _interrupts_held(),
                _main_module_hidden(),
                _one_thread_for_opencv(self._start_method),
                _one_thread_for_products(),
            ):
                process.start()
        except OSError as error:
            for end in ends:
                end.close()
            raise PoolError(
                f"worker {seat.orders.worker} cannot be started: {error.strerror}; use fewer workers"
            ) from None
        worker_bell.close()
        worker_talk.close()
        _OPEN_ENDS.update((bell, talk))
        if seat.process is not None:
            with contextlib.suppress(ValueError):  # the kernel still holds it
                seat.process.close()
        seat.process, seat.bell, seat.fd, seat.talk = process, bell, bell.fileno(), talk
        seat.told, seat.serial = None, 0

    def _pack(self, orders: WorkerOrders) -> bytes:
        # A thread's end counts as its process's death for the kernel, so only the main thread may be relied on.
        lasting = self._start_method == "forkserver" or threading.current_thread() is threading.main_thread()
        orders = replace(orders, dies_with_parent=lasting)
        try:
            return bytes(cloudpickle.dumps(orders))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise EnvError(
                f"the env {orders.spec.label!r} cannot be sent to workers because of {_culprit(orders)} ({error}); "
                "build such objects inside a factory function"
            ) from None


def _preloads(spec: EnvSpec) -> list[str]:
    """Return what the fork server imports once: starts are quick, and a restarted worker runs the first one's code."""
    modules = ["parcade.pool.worker", "parcade.console.gameboy"]
    if spec.game is not None:
        modules.append(type(make_game(spec)).__module__)
    return modules


def _culprit(orders: WorkerOrders) -> str:
    """Return which of the env's arguments cannot be pickled."""
    for field_name in ("env_kwargs", "game_options"):
        for key, value in getattr(orders.spec, field_name).items():
            try:
                cloudpickle.dumps(value)
            except Exception:
                return f"{field_name}[{key!r}], a {type(value).__name__}"
    return "one of its settings"


def _bound_waits(pipe: Connection, seconds: float, *waits: int) -> None:
    """Bound reads or writes of a pipe: a stopped worker must not stop the trainer with it."""
    limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6) or 1)
    with socket.socket(fileno=os.dup(pipe.fileno())) as pair:
        for wait in waits:
            pair.setsockopt(socket.SOL_SOCKET, wait, limit)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back from a process until it ignores them; the fork server never sees them."""
    resource_tracker.ensure_running()  # starting it would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_TRAINER)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _one_thread_for_opencv(start_method: str) -> Iterator[None]:
    """End OpenCV's threads before a fork: they do not live in the copy, which would wait for them for ever."""
    threads = cv2.getNumThreads()
    if start_method != "fork" or threads <= 1:
        yield
        return
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)


@contextlib.contextmanager
def _one_thread_for_products() -> Iterator[None]:
    """Have matrix libraries in a new process (or its fork server) use one thread: a worker has one core to itself.

    They read these names when they are loaded; what the user has set stays.
    """
    names = [name for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS") if name not in os.environ]
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


@contextlib.contextmanager
def _main_module_hidden() -> Iterator[None]:
    """Keep workers from running the user's script again: envs travel by value, so they never need it.

    Without this, spawn and forkserver import ``__main__`` in every worker, and a script without the
    ``if __name__ == "__main__"`` guard starts itself over and over.
    """
    main = sys.modules["__main__"]
    kept: dict[str, Any] = {name: main.__dict__[name] for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(kept)
