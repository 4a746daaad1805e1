"""What a learner logs travels with its answers."""

from __future__ import annotations

import logging
from typing import ClassVar


class Told(logging.Handler):
    """Keeps what a learner logs until its next answer: the trainer writes it into the run's log."""

    records: ClassVar[list[tuple[int, str]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.records.append((record.levelno, record.getMessage()))

    @classmethod
    def drained(cls) -> list[tuple[int, str]]:
        """Return what was kept, once."""
        found, cls.records[:] = list(cls.records), []
        return found

    @classmethod
    def install(cls) -> None:
        """Keep what Parcade logs in this process from now on, instead of printing it."""
        logger = logging.getLogger("parcade")
        logger.addHandler(cls(logging.INFO))
        logger.setLevel(logging.INFO)
        logger.propagate = False
