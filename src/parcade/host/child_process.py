"""Processes that this one starts: how they leave signals to it, end with it and show their name; and how one died."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import Any

# A terminal, its end, `timeout` or a batch system sends them to all processes at once.
FOR_THE_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back from a process until it ignores them; the fork server never sees them."""
    resource_tracker.ensure_running()  # starting it would let Ctrl-C through again
    with interrupts_later():
        yield


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Hear Ctrl-C and SIGTERM only at the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_PARENT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def main_module_hidden() -> Iterator[None]:
    """Keep a new process from running the user's script again: what it needs travels by value.

    Without this, spawn and forkserver import ``__main__`` in every process, and a script without the
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


def ignore_interrupts() -> None:
    """Leave Ctrl-C and the like to the parent; they were held back while this process started."""
    for number in FOR_THE_PARENT:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_THE_PARENT)


def name_process(name: str, title: str | None = None) -> None:
    """Show ``name`` in `top`, of which the kernel keeps 15 bytes, and ``title`` where `ps` shows the command line."""
    if sys.platform == "linux":
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(15, name.encode()[:15])  # PR_SET_NAME
            if title is not None:
                start, end = _arguments()
                ctypes.memmove(start, title.encode()[: end - start - 1].ljust(end - start, b"\0"), end - start)


def _arguments() -> tuple[int, int]:
    """Return where in this process's memory the kernel looks for its command line (fields 48 and 49 of `stat`)."""
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if not 0 < start < end:
        raise ValueError("the kernel does not say it")
    return start, end


def die_with_parent(owner_pid: int) -> None:
    """Have the kernel kill this process with its parent: reaches one that is stopped, or stuck in C code."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(Exception):
        import ctypes

        if os.getppid() != owner_pid:  # the fork server, which lasts as long as anyone holds this descriptor
            from multiprocessing import forkserver

            os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def end_with(pid: int) -> None:
    """End this process when the process ``pid`` ends, even while an emulator spins for ever."""

    def wait() -> None:
        try:
            descriptor = os.pidfd_open(pid)
            select.select([descriptor], [], [])
        except (AttributeError, OSError, ValueError):
            while True:  # no pidfd here (macOS, old kernels)
                try:
                    os.kill(pid, 0)
                except OSError:
                    break
                time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=wait, name="watch-parent", daemon=True).start()


def run_later(niceness: int) -> None:
    """Let other processes go first: ``niceness`` is 1 to 19.

    Linux may share processors out between sessions first (autogroup), and then a priority counts only within one: a
    process with a session of its own lowers the session too.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as session:
            session.write(str(niceness))


def run_at_once(pid: int) -> None:
    """Give the session of a process that ran later its usual share back; a process's own priority cannot be raised."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as session:
        session.write("0")


def run_last() -> None:
    """Give this process only the processor time that nobody else wants."""
    run_later(19)
    with contextlib.suppress(AttributeError, OSError):  # not on this system, or not allowed
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def exit_words(exit_code: int | None) -> str:
    """Return what a process's exit code means.

    >>> exit_words(-11)
    'killed by SIGSEGV'
    """
    if exit_code is None:
        return "closed its pipe without ending"
    if exit_code >= 0:
        return f"exited by itself with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"killed by {name}" + (" (out of memory, or killed by hand)" if name == "SIGKILL" else "")
