"""The process that talks to one tracker: `python -m parcade.run.trackers.process NAME MODULE:CLASS RUN`.

It reads one JSON message a line from standard input and answers each on standard output. Whatever the tracker's package
prints goes to logs/track-NAME.log. A service that hangs, fails or crashes takes only this process with it.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from parcade.host.child_process import ignore_interrupts, name_process, run_later
from parcade.run.trackers.base import FAILED, Entry, Kept, Tracker, make_tracker, read_kept, write_kept

LAST_WORDS_S = 30.0  # for a tracker whose training was killed
NOTE_EVERY_S = 2.0
# The games go first. Not 19: with 10 already, importing MLflow took 42 s instead of 4 s at a load of 13 on two cores.
_NICE = 10

_ADDRESS = re.compile(r"(https?://)(?:[^/@\s]*@)?([^/\s]+)")  # without a name and password in it
_NETWORK: dict[type[OSError], str] = {
    ConnectionRefusedError: "refuses connections; start it, or correct its address",
    socket.gaierror: "cannot be found: nobody knows its name",
    TimeoutError: "does not answer",
    ConnectionResetError: "broke the connection",
}


class Serving:
    """Hands messages to a tracker and notes in the run's folder how far it has come."""

    def __init__(self, tracker: Tracker, name: str, run: Path) -> None:
        self._tracker, self._name, self._run = tracker, name, run
        self._kept = Kept("")
        self._from = 0  # points up to here stand in the entry already: a resumed run repeats them
        self._noted_s = 0.0

    def open(self, about: dict[str, Any]) -> str:
        """Open the entry, that of the run's earlier parts where there is one; return where it is."""
        before = read_kept(self._run, self._name)
        entry = self._tracker.open(Entry(**about, id=before.id if before else None))
        self._from = before.env_steps if before is not None and before.id == entry else 0
        self._kept = Kept(entry, self._from, self._tracker.where)
        self._note()
        return self._kept.where

    def row(self, env_steps: int, values: dict[str, float], is_last: bool) -> None:
        """Add a point to each curve unless the entry has it."""
        if env_steps <= self._from and not is_last:
            return
        self._tracker.log(env_steps, values)
        self._kept.env_steps = max(self._kept.env_steps, env_steps)
        if time.monotonic() - self._noted_s > NOTE_EVERY_S:
            self._note()

    def close(self, state: str, results: dict[str, Any]) -> None:
        """End the entry."""
        self._note()
        self._tracker.close(state, results)

    def take(self, message: dict[str, Any]) -> None:
        """Do what any other message asks for."""
        if "row" in message:
            env_steps, values = message["row"]
            self.row(env_steps, values, message.get("is_last", False))
        elif "video" in message:
            self._tracker.add_video(Path(message["video"]), message["env_steps"])
        elif "model" in message:
            self._tracker.add_model(Path(message["model"]))

    def _note(self) -> None:
        write_kept(self._run, self._name, self._kept)
        self._noted_s = time.monotonic()


def serve(serving: Serving, messages: Iterator[dict[str, Any]], answers: IO[str]) -> None:
    """Serve until the training closes the entry or is gone."""
    for message in messages:
        try:
            if "close" in message:
                serving.close(*message["close"])
                return _answer(answers, closed=True)
            if "open" in message:
                _answer(answers, opened=serving.open(message["open"]))
            else:
                serving.take(message)
                _answer(answers, did=1)
        except Exception as error:  # the package of somebody else: it may raise anything
            _answer(answers, failed=words_of(error), did=1)
            if "open" in message or "close" in message:
                return None
    threading.Timer(LAST_WORDS_S, os._exit, (1,)).start()
    serving.close(FAILED, {})
    os._exit(1)


def words_of(error: Exception) -> str:
    """Return in one line what went wrong, at most 300 characters; a server out of reach is told in plain words."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (_out_of_reach(error, text) or text)[:300]


def _out_of_reach(error: BaseException | None, text: str) -> str | None:
    """Return why a server cannot be reached, if that is at the root of an error: packages show their insides."""
    found = _ADDRESS.search(text)
    where = f"the server at {found[1]}{found[2]}" if found else "its server"
    while error is not None:
        for kind, why in _NETWORK.items():
            if isinstance(error, kind):
                return f"{where} {why}"
        error = error.__cause__ or error.__context__
    return None


def read_messages(parent: int) -> Iterator[dict[str, Any]]:
    """Yield messages from standard input until it ends, or until the process ``parent`` does.

    Workers that the training forks hold its end of the pipe open too, so the end of the pipe alone is no sign.
    """
    try:
        waited = [0, os.pidfd_open(parent)]
    except (AttributeError, OSError):  # macOS, an old kernel, or a parent that is gone already
        waited = [0]
    waiting = b""
    while 0 in select.select(waited, [], [])[0]:
        got = os.read(0, 1 << 16)
        if not got:
            return
        *lines, waiting = (waiting + got).split(b"\n")
        yield from map(json.loads, lines)


def _answer(answers: IO[str], **words: Any) -> None:
    try:
        answers.write(json.dumps(words) + "\n")
        answers.flush()
    except OSError:
        pass  # nobody listens any more


def _private_answers(log: Path) -> IO[str]:
    """Keep standard output for answers; what the package prints goes to ``log``."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for standard in (1, 2):
        os.dup2(file, standard)
    os.close(file)
    return answers


def main(name: str, where: str, run: str) -> None:
    """Serve one tracker."""
    ignore_interrupts()
    name_process(f"track-{name}")
    run_later(_NICE)
    sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())] + [os.getcwd()]
    answers = _private_answers(Path(run) / "logs" / f"track-{name}.log")
    parent = os.getppid()
    try:
        serving = Serving(make_tracker(where), name, Path(run))
    except Exception as error:
        return _answer(answers, failed=words_of(error))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return serve(serving, read_messages(parent), answers)


if __name__ == "__main__":
    main(*sys.argv[1:4])
