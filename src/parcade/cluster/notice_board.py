"""Short notes between the trainer and learners on other machines: who moves, and which attempt counts."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import torch.distributed

from parcade.errors import RunError

c10d: Any = torch.distributed  # its stores and groups have no types
_ATTEMPT, _END = "attempt", "end"
ABANDONED = -1


class NoticeBoard:
    """A key-value store that the trainer serves; learners also find each other's addresses there."""

    def __init__(self, store: Any, address: tuple[str, int]) -> None:
        self.store, self.address = store, address

    @classmethod
    def served(cls, host: str, timeout_s: float) -> NoticeBoard:
        """Serve a board on one address of this machine, on a free port."""
        listening = socket.socket()
        try:
            listening.bind((host, 0))
            listening.listen(1024)
        except OSError as error:
            listening.close()
            raise RunError(f"no port can be opened on {host} for the learners: {error.strerror}") from None
        port = listening.getsockname()[1]
        # The store takes the socket over. By itself it would listen on every address of the machine.
        options = {"wait_for_workers": False, "master_listen_fd": listening.detach(), "use_libuv": False}
        store = c10d.TCPStore(host, port, None, True, timedelta(seconds=timeout_s), **options)
        board = cls(store, (host, port))
        board.begin(0)
        return board

    @classmethod
    def at(cls, address: tuple[str, int], timeout_s: float) -> NoticeBoard:
        """Reach a board that another process serves."""
        store = c10d.TCPStore(*address, None, False, timedelta(seconds=timeout_s), use_libuv=False)
        return cls(store, address)

    def begin(self, attempt: int) -> None:
        """Say which attempt at an update counts; ``ABANDONED`` is none."""
        self.store.set(_ATTEMPT, str(attempt))

    def attempt(self) -> int:
        """Return the attempt that counts."""
        return int(self.store.get(_ATTEMPT))

    def beat(self, learner: int, count: int) -> None:
        """Say how often a learner has moved."""
        self.store.set(f"beat/{learner}", str(count))

    def beats(self, learner: int) -> int:
        """Return how often a learner said that it had moved."""
        return int(self.store.get(f"beat/{learner}"))

    def note_sent(self, learner: int, updates: int, n_bytes: int) -> None:
        """Say what a learner has sent to others so far."""
        self.store.set(f"sent/{learner}", f"{updates} {n_bytes}")

    def sent(self, learner: int) -> tuple[int, int]:
        """Return in how many updates a learner has sent how many bytes."""
        updates, n_bytes = map(int, self.store.get(f"sent/{learner}").split())
        return updates, n_bytes

    def end(self) -> None:
        """Say that the training is over."""
        self.store.set(_END, "1")

    def is_over(self) -> bool:
        """Whether the training is over."""
        return bool(self.store.check([_END]))
