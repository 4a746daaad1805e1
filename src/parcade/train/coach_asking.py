"""Asks a coach in the background: a process of its own, so that no server can stop or slow a training."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from parcade.config.llm_address import missing_packages
from parcade.config.settings import TrainSettings
from parcade.errors import MissingExtraError
from parcade.host.child_process import exit_words
from parcade.host.input_file import parse_json

_PROCESS = "parcade.guide.coach_process"
_LARGEST = 1 << 20  # bytes of an answer


def check_installed(settings: TrainSettings) -> None:
    """Refuse a coach whose packages are missing: only the user can mend that."""
    missing = missing_packages(is_small=settings.llm is None) if settings.coach_replay is None else []
    if missing:
        raise MissingExtraError(
            f"a coach needs {', '.join(missing)}; install them with `pip install 'parcade[guide]'` (docs/install.md)"
        )


class Asking:
    """At most one question at a time; nothing here ever waits for an answer."""

    priority = "last"  # "usual": it takes its share of the processors, for tests on a machine without a free one

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: dict[str, Any] | None = None
        self._thread: threading.Thread | None = None

    def ask(self, question: Mapping[str, Any]) -> None:
        """Start to ask; what was asked before is given up."""
        self.close()
        self._answer = None
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", _PROCESS, str(os.getpid()), self.priority],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:  # no process, memory or descriptor left
            self._answer = {"failed": f"no process can be started: {error.strerror}"}
            return
        self._process = process
        text = json.dumps(question).encode()
        self._thread = threading.Thread(target=self._listen, args=(process, text), name="coach", daemon=True)
        self._thread.start()

    def _listen(self, process: subprocess.Popen[bytes], question: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it was ended while it wrote
            told, _ = process.communicate(question)
            if process is self._process:
                self._answer = _answer_of(told, process.returncode)

    def wait(self, seconds: float) -> None:
        """Wait for the answer, for tests and benches; a training never does."""
        if self._thread is not None:
            self._thread.join(seconds)

    def hold(self, is_held: bool) -> None:
        """Stop the process that asks, or let it go on: a bench has it work only while its own training does."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGSTOP if is_held else signal.SIGCONT)

    def answer(self) -> dict[str, Any] | None:
        """Return the answer, with a key ``revision`` or ``failed``; None: there is none yet."""
        return self._answer

    def close(self) -> None:
        """End what is under way; twice is fine."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the small model's server too
            process.wait()
        if self._thread is not None:
            self._thread.join(5.0)  # it has read the end of the pipe
            self._thread = None


def _answer_of(told: bytes, code: int | None) -> dict[str, Any]:
    try:
        answer = parse_json(told) if len(told) <= _LARGEST else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not ({"revision", "failed"} & set(answer)):
        return {"failed": f"the process that asks {exit_words(code)}"}
    return answer
