"""Runs command lines, each in a process of its own that is forked from one with everything imported.

The parent talks to it in lines of JSON; a case costs a few hundredths of a second beside what it does itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

STOP_S = 40.0  # that a command may take to end after SIGTERM
MEMORY = 6 << 30  # of a command's address space
RAISED, WRONG_WEIGHTS = 99, 98
_SERVE = "from parcade.bench.fuzz.server import serve; serve()"


class Outcome(NamedTuple):
    """How a command ended."""

    code: int  # its exit code, or minus the signal that ended it
    seconds: float
    was_stopped: bool  # by SIGTERM, at its deadline
    hung: bool  # and did not answer that
    told: str  # what it wrote to standard error
    answered: bool  # whether it wrote anything to standard output


class FuzzServer:
    """The process that forks; close it."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PARCADE_FUZZ": "1", "COLUMNS": "200"}
        self._process = subprocess.Popen([sys.executable, "-c", _SERVE], env=environment, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, words: Sequence[str], folder: Path, deadline_s: float) -> Outcome:
        """Run ``parcade WORDS`` in a folder; ``@function`` as the first word calls one of ``probes`` instead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(words), str(folder), deadline_s]) + "\n")
        self._process.stdin.flush()
        return Outcome(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> FuzzServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve() -> None:
    """Answer until standard input ends."""
    _import_everything()
    for line in sys.stdin:
        words, folder, deadline_s = json.loads(line)
        print(json.dumps(_run(words, folder, deadline_s)), flush=True)


def _import_everything() -> None:
    import parcade.api
    import parcade.cli.main
    import parcade.env.check
    import parcade.train.checking
    import parcade.train.evaluation
    import parcade.train.found_starts
    import parcade.train.recording
    import parcade.train.resume
    import parcade.train.training  # noqa: F401


def _run(words: list[str], folder: str, deadline_s: float) -> Outcome:
    errors, answers = Path(folder, "stderr.txt"), Path(folder, "stdout.txt")
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        _be_the_command(words, folder, errors, answers)
    code, was_stopped, hung = _watched(pid, started + deadline_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what it started and left
    told = errors.read_text(encoding="utf-8", errors="replace") if errors.exists() else ""
    answered = answers.exists() and answers.stat().st_size > 0
    return Outcome(code, time.monotonic() - started, was_stopped, hung, told[:20_000], answered)


def _watched(pid: int, until_s: float) -> tuple[int, bool, bool]:
    """Wait for the command; at its deadline ask it to stop, and kill it if it does not."""
    was_stopped = hung = False
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), was_stopped, hung
        if time.monotonic() > until_s:
            hung = was_stopped
            os.kill(pid, signal.SIGKILL if was_stopped else signal.SIGTERM)
            was_stopped, until_s = True, time.monotonic() + STOP_S
        time.sleep(0.005)


def _be_the_command(words: list[str], folder: str, errors: Path, answers: Path) -> None:
    """Turn into the command and end with its exit code."""
    code = RAISED
    try:
        os.setsid()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for fd, file in ((0, Path(os.devnull)), (1, answers), (2, errors)):
            with file.open("w+b") as opened:
                os.dup2(opened.fileno(), fd)
        code = _called(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _called(words: list[str]) -> int:
    from parcade.bench.fuzz.probes import PROBES
    from parcade.cli import main as program
    from parcade.console import hosted

    hosted.DEADLINE_S = 4.0
    if words[0].startswith("@"):
        return PROBES[words[0][1:]](*words[1:])
    sys.argv = ["parcade", *words]
    return program.main()


def sentence_fault(outcome: Outcome) -> str | None:
    """Return what is wrong with how a command ended; None: it did what it should."""
    told: list[str] = [line for line in outcome.told.splitlines() if line.startswith("parcade: ")]
    checks: dict[str, Any] = {
        "it hung and did not answer SIGTERM": outcome.hung,
        "a traceback": "Traceback (most recent call last)" in outcome.told or outcome.code == RAISED,
        "a warning of Python's": re.search(r"\b[A-Z]\w*Warning: ", outcome.told),
        "wrong weights": outcome.code == WRONG_WEIGHTS,
        f"exit code {outcome.code}": outcome.code not in ((143, 1, 2, 0) if outcome.was_stopped else (0, 1, 2)),
        "no sentence": outcome.code in (1, 2) and not told and not outcome.answered,
        f"{len(outcome.told):,} characters of words": len(outcome.told) > 4_000,
        "a line of more than 1,500 characters": any(len(line) > 1_500 for line in told),
    }
    return next((words for words, holds in checks.items() if holds), None)
