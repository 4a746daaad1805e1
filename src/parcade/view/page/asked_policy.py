"""What a saved policy of the run thinks of the steps of a replay; the policy lives in a process of its own.

The server never loads torch: `parcade.train.saved_policy` does, beside it, and is asked over a pipe.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parcade.errors import RunError
from parcade.host.child_process import exit_words
from parcade.run.array_message import Array, receive_message, send_message
from parcade.view.beside import end

OPENING, READY, FAILED = "opening", "ready", "failed"
MOST_AT_ONCE = 64  # observations in one question
MEMORY = "(memory)"  # the name of the policy's memory among the arrays
_KEPT = 1000  # steps whose thoughts are kept
_OPEN_DEADLINE_S, _ANSWER_DEADLINE_S, _END_DEADLINE_S = 120.0, 30.0, 5.0
Rows = dict[str, Array]


class Thought(NamedTuple):
    """What a policy made of one observation: the parameters of its choice, and the return that it expects."""

    params: npt.NDArray[np.float32]
    value: float


class AskedPolicy:
    """Opens in the background. Without an answer there are no thoughts, and ``about`` says why.

    A policy with memory has to see every observation since the episode's start: ``start_before`` says from where on.
    """

    def __init__(self, run: Path, near: int | None) -> None:
        self._near = near
        self._lock = threading.Lock()  # one question at a time
        command = [sys.executable, "-m", "parcade.train.saved_policy", str(run)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process: subprocess.Popen[bytes] | None = None
        self.state, self.about = OPENING, {"state": OPENING}
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, start_new_session=True)
        except OSError as error:  # too many processes, or no memory
            self._fail(f"no process can be started for the saved policy: {error.strerror}")
        self.choose(None)

    def choose(self, name: str | None, near: int | None = None) -> None:
        """Load another of the run's policies; None: the one that was saved nearest to ``near`` or the first wish."""
        if self._process is None:
            return
        self._near = self._near if near is None else near
        self.state, self.about = OPENING, {"state": OPENING}
        self._thoughts: dict[int, Thought] = {}
        threading.Thread(target=self._open, args=(name,), daemon=True).start()

    def _open(self, name: str | None) -> None:
        try:
            told, _ = self._exchange({"open": name, "near": self._near}, {}, _OPEN_DEADLINE_S)
        except RunError as error:
            self._fail(str(error))
            return
        self._size = int(told["memory"])
        self._memories = {0: np.zeros((1, self._size), np.float32)}
        self.about = {"state": READY, **told}
        self.state = READY

    def _fail(self, words: str) -> None:
        self.about = {"state": FAILED, "words": words}
        self.state = FAILED

    def follows(self, step: int) -> bool:
        """Whether it can go on from this step as it has seen all before, or needs nothing of that."""
        return self.state != READY or not self._size or step in self._memories

    def start_before(self, step: int) -> int:
        """Return the last step, not after this one, from which it can go on."""
        if self.state != READY or not self._size:
            return step
        return max(known for known in self._memories if known <= step)

    def think(self, first: int, seen: list[Rows]) -> None:
        """Think of the observations before the steps ``first``, ``first + 1`` and so on."""
        if self.state != READY or not seen:
            return
        try:
            self._think(first, {name: np.stack([rows[name] for rows in seen]) for name in seen[0]}, len(seen))
        except (RunError, LookupError) as error:
            self._fail(str(error))

    def _think(self, first: int, seen: Rows, n: int) -> None:
        memory = np.zeros((n, self._size), np.float32)
        memory[0] = self._memories[first][0] if self._size else 0
        _, found = self._exchange({}, {**seen, MEMORY: memory}, _ANSWER_DEADLINE_S)
        for i in range(n):
            self._thoughts[first + i] = Thought(found["params"][i], float(found["values"][i]))
        if self._size:
            self._remember(first + 1, found[MEMORY])
        while len(self._thoughts) > _KEPT:
            del self._thoughts[next(iter(self._thoughts))]

    def _remember(self, first: int, memories: Array) -> None:
        """Keep the newest memory, to go on, and some on the way, to come back to."""
        self._memories = {step: one for step, one in self._memories.items() if step % MOST_AT_ONCE == 0}
        for i, memory in enumerate(memories):
            if (first + i) % MOST_AT_ONCE == 0 or i == len(memories) - 1:
                self._memories[first + i] = memory[None]

    def value_of(self, rows: Rows) -> float | None:
        """Return what it expects from one observation on; a policy with memory cannot say that."""
        if self.state != READY or self._size:
            return None
        try:
            alone = {name: row[None] for name, row in rows.items()}
            _, found = self._exchange({}, {**alone, MEMORY: np.zeros((1, 0), np.float32)}, _ANSWER_DEADLINE_S)
        except RunError as error:
            self._fail(str(error))
            return None
        return float(found["values"][0])

    def thought(self, step: int) -> Thought | None:
        """Return what it made of the observation before a step."""
        return self._thoughts.get(step) if self.state == READY else None

    def _exchange(self, record: dict[str, Any], arrays: Rows, deadline_s: float) -> tuple[dict[str, Any], Rows]:
        """Ask and wait; a process that does not answer in time is killed, which ends both waits."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(deadline_s, process.kill)
        watchdog.daemon = True
        with self._lock:
            watchdog.start()
            try:
                send_message(process.stdin, record, arrays)
                answer = receive_message(process.stdout)
            except (OSError, ValueError):  # it has ended, or was closed
                answer = None
            finally:
                watchdog.cancel()
        if answer is None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # its pipe may close a moment before it ends
                process.wait(_END_DEADLINE_S)
            raise RunError(f"the process with the saved policy has ended ({exit_words(process.poll())})")
        if "failed" in answer[0]:
            raise RunError(str(answer[0]["failed"]))
        return answer

    def close(self) -> None:
        """End the process; twice is fine."""
        if self._process is None:
            return
        if self.state == OPENING:  # torch is being loaded, and nobody waits for it any more
            self._process.kill()
        end(self._process, _END_DEADLINE_S)
