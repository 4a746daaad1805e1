"""One object in a process of its own: what it does may crash, hang or be ended without harm to this process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from parcade.errors import ParcadeError, RunError
from parcade.host.child_process import (
    die_with_parent,
    end_with,
    exit_words,
    ignore_interrupts,
    interrupts_held,
    interrupts_later,
    main_module_hidden,
    name_process,
)

GLANCE_S = 0.1  # how long a wait lasts before anything else is looked at
SLOW_S = 5.0  # of silence, after which somebody is told
BURIAL_S = 5.0
START_S = 120.0  # for imports on a busy machine


class Hosted:
    """Calls methods of the object that ``make(tell, *args)`` returns in another process.

    The object may call ``tell(place)`` to say that it moves and where it is; ``deadline_s`` without a word ends its
    process. A ParcadeError is raised here as it was there; another exception, a death and a hang are RunErrors in
    words. ``while_waiting`` is called now and then and may raise; ``on_silence`` hears the seconds and the last place.
    """

    def __init__(self, name: str, make: Callable[..., Any], *args: Any, deadline_s: float) -> None:
        self.name, self.place, self._deadline_s, self._serial, self._owed = name, "", deadline_s, 0, 0
        self.while_waiting: Callable[[], None] = lambda: None
        self.on_silence: Callable[[float, str], None] = lambda seconds, place: None
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, os.getpid(), name, make, args), daemon=True)
        with interrupts_held(), main_module_hidden():
            self._process.start()
        other.close()
        self._owed = 1
        try:
            self._answer(max(START_S, deadline_s))
        except BaseException:
            self.close()
            raise

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the object and return what it returns."""
        if self._pipe.closed:
            raise RunError(f"{self.name} has ended")
        while self._owed:  # a call before this one was interrupted
            self._answer()
        self._serial += 1
        self._owed = 1
        try:
            self._pipe.send((self._serial, method, args))
        except OSError:
            raise self._died() from None
        return self._answer()

    def _answer(self, deadline_s: float | None = None) -> Any:
        """Wait for the answer that is owed; silence is told once, and ends the process in the end."""
        since, was_told = time.monotonic(), False
        deadline_s = self._deadline_s if deadline_s is None else deadline_s
        while True:
            if self._pipe.poll(GLANCE_S):
                kind, serial, payload = self._hear()
                since, was_told = time.monotonic(), False
                if kind == "told":
                    self.place = payload
                elif serial == self._serial:
                    self._owed = 0
                    if kind == "raised":
                        raise payload
                    return payload
                continue
            self.while_waiting()
            silent_s = time.monotonic() - since
            if silent_s > SLOW_S and not was_told:
                was_told = True
                self.on_silence(silent_s, self.place)
            if silent_s > deadline_s:
                self.close()
                raise RunError(f"{self.name} did not move for {deadline_s:g} s{self._where()} and was ended")

    def _hear(self) -> tuple[str, int, Any]:
        try:
            with interrupts_later():  # half a message could not be followed by another one
                heard: tuple[str, int, Any] = self._pipe.recv()
            return heard
        except (EOFError, OSError):
            raise self._died() from None

    def _died(self) -> RunError:
        self._process.join(BURIAL_S)
        words = exit_words(self._process.exitcode)
        self.close()
        return RunError(f"{self.name} was {words}{self._where()}" if "killed" in words else f"{self.name} {words}")

    def _where(self) -> str:
        return f" at {self.place}" if self.place else ""

    def close(self) -> None:
        """End the process at once, whatever it does; twice is fine."""
        if not self._pipe.closed:
            self._pipe.close()
            self._process.kill()
            self._process.join(BURIAL_S)


def _serve(pipe: Connection, owner_pid: int, name: str, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Make the object and answer calls until the owner closes the pipe or ends."""
    ignore_interrupts()
    name_process(f"parcade {name}")
    die_with_parent(owner_pid)
    end_with(owner_pid)
    with contextlib.suppress(EOFError, OSError):
        serial = 0
        thing = _answered(pipe, serial, lambda: make(lambda place: pipe.send(("told", 0, place)), *args), "made")
        while thing is not None:
            serial, method, given = pipe.recv()
            _answered(pipe, serial, lambda: getattr(thing, method)(*given))  # noqa: B023 - called before the next turn


def _answered(pipe: Connection, serial: int, do: Callable[[], Any], instead: Any = None) -> Any:
    """Do something and send its result, or ``instead`` of it, or what it raised; return the result."""
    try:
        result = do()
    except ParcadeError as error:
        pipe.send(("raised", serial, error))
    except Exception as error:
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        pipe.send(("raised", serial, RunError(f"it raised {words}")))
    else:
        pipe.send(("done", serial, result if instead is None else instead))
        return result
    return None
