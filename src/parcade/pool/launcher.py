"""Starts worker processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import socket
import struct
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import cv2

from parcade.env.make import make_game
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, PoolError
from parcade.host.child_process import interrupts_held, main_module_hidden
from parcade.pool.worker import WorkerOrders, run_worker
from parcade.pool.worker_handle import LISTEN_S, WorkerHandle

_OPEN_ENDS: weakref.WeakSet[Connection] = weakref.WeakSet()  # the trainer's ends of all pools' pipes


class Launcher:
    """Starts the processes of one pool's workers."""

    def __init__(
        self, handles: list[WorkerHandle], start_method: str, patience_s: float, preload: tuple[str, ...] = ()
    ) -> None:
        self._handles, self._start_method, self._patience_s = handles, start_method, patience_s
        self._context: Any = multiprocessing.get_context(start_method)
        if start_method == "forkserver":
            self._context.set_forkserver_preload([*_preloads(handles[0].orders.spec), *preload])

    def launch(self, handle: WorkerHandle) -> None:
        """Start the worker's process with fresh pipes."""
        packed = self._pack(handle.orders)
        ends: list[Connection] = []
        try:
            ends += self._context.Pipe()
            ends += self._context.Pipe()
            steps, worker_steps, control, worker_control = ends
            if self._start_method == "fork":
                inherited = tuple(end.fileno() for end in (*_OPEN_ENDS, steps, control) if not end.closed)
                packed = self._pack(replace(handle.orders, inherited_fds=inherited))
            _bound_waits(control, self._patience_s, socket.SO_SNDTIMEO, socket.SO_RCVTIMEO)
            _bound_waits(steps, min(LISTEN_S, self._patience_s / 4), socket.SO_RCVTIMEO)
            process = self._context.Process(
                target=run_worker,
                args=(packed, worker_steps, worker_control),
                name=f"parcade-worker-{handle.orders.worker}",
                daemon=True,
            )
            with (
                interrupts_held(),
                main_module_hidden(),
                _one_thread_for_opencv(self._start_method),
                _one_thread_for_products(),
            ):
                process.start()
        except OSError as error:
            for end in ends:
                end.close()
            raise PoolError(
                f"worker {handle.orders.worker} cannot be started: {error.strerror}; use fewer workers"
            ) from None
        worker_steps.close()
        worker_control.close()
        _OPEN_ENDS.update((steps, control))
        if handle.process is not None:
            with contextlib.suppress(ValueError):  # the kernel still holds it
                handle.process.close()
        handle.process, handle.steps, handle.fd, handle.control = process, steps, steps.fileno(), control
        handle.told, handle.serial, handle.silence_told = None, 0, False

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
