"""A worker process as the trainer holds it: its orders, its channels, its record."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from parcade.pool.fragment import PACKED, Fragment
from parcade.pool.lifecycle import Life
from parcade.pool.worker import CONTROL, WorkerOrders

BURIAL_S = 5.0
LISTEN_S = 0.5  # how long the trainer listens to one worker before it looks at all of them


@dataclass(slots=True)
class WorkerHandle:
    """A worker's place in the pool."""

    orders: WorkerOrders
    life: Life = field(default_factory=Life)
    process: Any = None
    steps: Connection | None = None  # the step channel: fragments, there and back
    fd: int = -1  # its file descriptor
    control: Connection | None = None  # the control channel: commands and answers
    serial: int = 0  # of the last command; an answer to an earlier one is nobody's any more
    silence_told: bool = False  # that this life of the worker does not move
    told: tuple[str, str, str, str] | None = None  # kind, name, text and trace of what the worker raised

    @property
    def slots(self) -> range:
        """The slots the worker owns."""
        return self.orders.slots

    def send_fragment(self, fragment: Fragment) -> None:
        """Hand over a fragment and return at once."""
        with contextlib.suppress(OSError):  # it is dead; whoever waits finds out, names it and brings it back
            os.write(self.fd, fragment.pack())

    def tell(self, message: Any) -> None:
        """Send something the worker waits for."""
        assert self.control is not None
        self.control.send(message)

    def command(self, command: Any) -> None:
        """Announce a command, then send it: one larger than the pipe is read while it is being written."""
        self.serial += 1
        os.write(self.fd, CONTROL)
        self.tell((self.serial, command))

    def has_word(self, timeout_s: float) -> bool:
        """Wait for the worker to say something (or to close its pipe)."""
        assert self.control is not None
        return self.control.poll(timeout_s)

    def hear(self) -> tuple[str, int, Any]:
        """Return a word of the worker's, which command it answers, and what came with it."""
        assert self.control is not None
        said: tuple[str, int, Any] = self.control.recv()
        return said

    def has_answered(self) -> bool:
        """Whether the worker has finished a fragment (or closed its end) and nobody has looked yet."""
        assert self.steps is not None
        return self.steps.poll(0)

    def finished_fragments(self) -> list[Fragment] | None:
        """Wait a moment for finished fragments; None for nothing, an empty list for a closed end."""
        size = PACKED.size
        try:
            said = os.read(self.fd, 64 * size)
        except BlockingIOError:
            return None
        except OSError:
            return []
        return [Fragment.unpack(said[at : at + size]) for at in range(0, len(said), size)]

    def forget_answers(self) -> None:
        """Throw away what the worker has finished."""
        while self.has_answered() and self.finished_fragments():
            pass

    def bury(self, kill_now: bool) -> int | None:
        """Make sure the process is gone, take its last words, close its pipes; return its exit code."""
        if kill_now:
            self.process.kill()
        self._take_last_words()
        self.process.join(BURIAL_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(BURIAL_S)
        self.hang_up()
        code: int | None = self.process.exitcode
        return code

    def _take_last_words(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self.told is None and self.control is not None and self.has_word(0.1):
                said, _, payload = self.hear()
                if said == "raised":
                    self.told = payload

    def hang_up(self) -> None:
        """Close the pipes: a worker that lives ends by itself."""
        for pipe in (self.steps, self.control):
            if pipe is not None:
                pipe.close()
