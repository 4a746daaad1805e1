"""What a training changes around itself for a while, and puts back: threads, signals, the log file."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from parcade.host.interrupts import heed_again, interrupt

# Windows has no SIGHUP.
_ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def threads_restored() -> Iterator[None]:
    """Give torch back the number of threads it had."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def stop_on_signal(request_stop: Callable[[int], bool]) -> Iterator[None]:
    """Hand Ctrl-C, SIGTERM and the end of the terminal to ``request_stop``; where it says no, stop at once.

    A signal that whoever started this process had it ignore (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        if not request_stop(number):
            interrupt(number, frame)

    heed_again()
    heard = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    kept = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


class _LogFile(logging.FileHandler):
    """A log that a full disk does not turn into tracebacks: the same lines go to the terminal as well."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Lose the line."""

    def close(self) -> None:
        """Close, and lose what cannot be written."""
        with suppress(OSError):
            super().close()


@contextmanager
def log_file(path: Path) -> Iterator[None]:
    """Write what Parcade logs to a file as well."""
    handler = _LogFile(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("parcade")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()


def use_threads(count: int) -> None:
    """Have torch compute with so many threads."""
    torch.set_num_threads(count)
