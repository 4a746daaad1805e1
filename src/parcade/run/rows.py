"""Text files that grow by rows. On a full disk rows wait in memory, in order and whole, until they can be written."""

from __future__ import annotations

import logging
import os
from pathlib import Path

log = logging.getLogger("parcade.run")
WAITING_BYTES = 8192


class RowFile:
    """Appends rows; ``flush`` never raises, ``end`` does. The file is open only while it is written to.

    A run has one for each slot: 1,000 of them would be more than a process may open.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._waiting, self._is_stuck, self._is_closed = path, b"", False, False
        os.close(self._open())

    def add(self, row: str) -> None:
        """Take one row, without its line end; it is written soon."""
        assert not self._is_closed
        self._waiting += row.encode() + b"\n"
        if len(self._waiting) > WAITING_BYTES and not self._is_stuck:
            self.flush()

    def flush(self) -> None:
        """Write what waits; where that fails it is told once, and tried again with the next flush."""
        try:
            self._write()
        except OSError as error:
            if not self._is_stuck:
                log.warning("%s cannot be written (%s); its rows wait until it can", self._path, error.strerror)
            self._is_stuck = True

    def end(self) -> int:
        """Return the file's size with all rows written; raise if they cannot be."""
        self._write()
        return self._path.stat().st_size

    def cut(self, end: int) -> None:
        """Cut off what was written after ``end``; a file that somebody shortened keeps the whole rows it has."""
        self._waiting = b""
        if self._path.stat().st_size < end:
            log.warning("%s has lost rows since the checkpoint was written; the run goes on with the rest", self._path)
            end = self._path.read_bytes().rfind(b"\n") + 1
        os.truncate(self._path, end)

    def close(self) -> None:
        """Write what can be written and close; twice is fine."""
        if not self._is_closed:
            self.flush()
            self._is_closed = True

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def _write(self) -> None:
        if self._waiting:
            file = self._open()
            try:
                while self._waiting:
                    self._waiting = self._waiting[os.write(file, self._waiting) :]
            finally:
                os.close(file)
        self._is_stuck = False
