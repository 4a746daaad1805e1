"""Signals while this process is stuck in a game that never returns: Python would never answer them."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from parcade.host.child_process import FOR_THE_PARENT

PATIENCE_S = 30.0  # after one signal: a long computation ends, and a checkpoint can be written
GRACE_S = 2.0  # after a second one
_farewells: list[Callable[[], None]] = []
_PING = getattr(signal, "SIGURG", None)  # nobody else uses it, and a process without a handler does not notice it


@contextmanager
def stuck_watch() -> Iterator[None]:
    """End this process if its main thread does not run when Ctrl-C or the like comes; for the main thread of a program.

    Only games in this process (``n_workers`` 0) can do that to it. A signal reaches the watching thread through a pipe
    even while the main thread runs C code for ever; a signal of its own tells whether that is so.
    """
    if _PING is None:
        yield
        return
    alive = threading.Event()
    kept = signal.signal(_PING, lambda number, frame: alive.set())
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_watch, args=(reader, alive), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        thread.join()
        signal.signal(_PING, kept)


def _watch(reader: socket.socket, alive: threading.Event) -> None:
    waiting, until_s = 0, 0.0  # the signal that came first and is not answered, and how long it may be
    with reader:
        while True:
            reader.settimeout(0.2 if waiting else None)
            try:
                heard = reader.recv(64)
            except TimeoutError:
                heard = b"\0"
            if not heard:
                return
            for number in {int(n) for n in FOR_THE_PARENT}.intersection(heard):
                until_s = time.monotonic() + (GRACE_S if waiting else PATIENCE_S)
                waiting = waiting or number
                alive.clear()
                signal.pthread_kill(threading.main_thread().ident or 0, _PING or 0)
            if waiting and alive.is_set():
                waiting = 0
            elif waiting and time.monotonic() > until_s:
                end_at_once(waiting, "a game does not answer")


def at_sudden_end(do: Callable[[], None]) -> Callable[[], None]:
    """Have something done before a stuck process ends: nothing that is done at exit would be."""
    _farewells.append(do)
    return do


def end_at_once(number: int, why: str) -> None:
    """Say why, do what must be done before a sudden end, and leave with the exit code of the signal ``number``."""
    for do in _farewells:
        with suppress(Exception):
            do()
    name = signal.Signals(number).name
    with suppress(OSError):
        print(f"parcade: {why}, so {name} ends this process at once", file=sys.stderr, flush=True)
    os._exit(128 + number)
