"""A tracker in the background: a bounded queue and a process, so that no service can stop or slow a training."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from parcade.host.child_process import exit_words, run_at_once
from parcade.host.core_use import core_time
from parcade.run.trackers.base import TRACKERS

log = logging.getLogger("parcade.run")
PATIENCE_S = 60.0  # of silence while it has something to do, at the end of a training
TOLD_AFTER_S = 5.0
MOST_WAITING = 1000  # messages


class BackgroundTracker:
    """Takes messages without ever waiting. Its first failure is one warning; no later one is told."""

    def __init__(
        self,
        name: str,
        run: Path,
        *,
        tracker: str | None = None,
        patience_s: float = PATIENCE_S,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self.name, self._patience_s, self._most_waiting = name, patience_s, most_waiting
        self._waiting: deque[dict[str, Any] | None] = deque()
        self._filled = threading.Condition()
        self._over = threading.Event()
        self._to_do, self._since_s = 0, time.monotonic()  # messages without an answer; since when there is none
        self._is_warned = self._is_closed = False
        command = [sys.executable, "-m", "parcade.run.trackers.process", name, tracker or TRACKERS[name], str(run)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        works = (self._write, self._listen)
        self._threads = [threading.Thread(target=work, name=f"track-{name}", daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def send(self, message: dict[str, Any]) -> None:
        """Hand on a message; where too many wait it is left out."""
        if len(self._waiting) >= self._most_waiting:
            self._warn("is slower than the training, which does not wait: points are left out (metrics.jsonl has all)")
        else:
            self._put(message)

    def end(self, message: dict[str, Any]) -> None:
        """Hand on the last message, however many wait; there are no games any more that must go first."""
        if not self._over.is_set():
            run_at_once(self._process.pid)
        self._put(message)
        self._put(None)

    def close(self) -> None:
        """Wait until the tracker has done all, as long as it shows signs of life; twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        silence = Silence(self._process.pid)
        told_s = time.monotonic() + TOLD_AFTER_S
        try:
            while not self._over.wait(0.05):
                if time.monotonic() > told_s:
                    told_s = math.inf
                    run_at_once(self._process.pid)  # once more: it was perhaps just starting
                    log.warning("the training is over; waiting for the tracker %s (Ctrl-C twice ends it)", self.name)
                if self._to_do and silence.seconds(self._since_s) > self._patience_s:
                    self._warn(f"did not answer for {self._patience_s:g} s; its entry may lack the last points")
                    break
        finally:
            self._end()

    def _put(self, message: dict[str, Any] | None) -> None:
        if self._over.is_set():
            return
        with self._filled:
            if message is not None:
                self._since_s = self._since_s if self._to_do else time.monotonic()
                self._to_do += 1
            self._waiting.append(message)
            self._filled.notify()

    def _take(self) -> dict[str, Any] | None:
        with self._filled:
            self._filled.wait_for(lambda: self._waiting)
            return self._waiting.popleft()

    def _write(self) -> None:
        """Write what waits into the process's pipe, as fast as it reads."""
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):  # it is gone: _listen tells
            while (message := self._take()) is not None:
                pipe.write(json.dumps(message).encode() + b"\n")
                pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _listen(self) -> None:
        """Read answers until the process ends."""
        answers, is_closed = self._process.stdout, False
        assert answers is not None
        for line in answers:
            answer = json.loads(line)
            is_closed |= "closed" in answer or "failed" in answer
            with self._filled:
                self._to_do, self._since_s = max(0, self._to_do - 1), time.monotonic()
            if "opened" in answer:
                log.info("track=%s entry=%s", self.name, answer["opened"])
            elif "failed" in answer:
                self._warn(f"failed, the training goes on without it: {answer['failed']}")
        answers.close()
        code = self._process.wait()
        if not is_closed and not self._is_closed:
            self._warn(f"{exit_words(code)}; the training goes on without it")
        self._over.set()

    def _warn(self, words: str) -> None:
        if not self._is_warned:
            self._is_warned = True
            log.warning("the tracker %s %s", self.name, words)

    def _end(self) -> None:
        if not self._over.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._over.wait(5.0)
        with self._filled:
            self._waiting.append(None)  # for a writer that waits
            self._filled.notify()
        for thread in self._threads:
            thread.join(5.0)


class Silence:
    """Counts how long a process gives no sign of life, without the time in which others had its core.

    On a busy machine a tracker, which goes behind all others, needs minutes to import its package: it does not hang.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._from_s, self._waited_s = pid, time.monotonic(), self._waited(pid)

    def seconds(self, since_s: float) -> float:
        """Return the seconds of silence; ``since_s`` is when the last sign came."""
        if since_s > self._from_s:
            self._from_s, self._waited_s = since_s, self._waited(self._pid)
        return time.monotonic() - self._from_s - (self._waited(self._pid) - self._waited_s)

    @staticmethod
    def _waited(pid: int) -> float:
        found = core_time(pid)
        return found.wait_s if found is not None else 0.0
