"""The terminal as a place to write that may go away: a closed pipe or window ends what is shown, not what is done."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import IO, Any

log = logging.getLogger("parcade.train")


class Terminal:
    """Standard error for as long as somebody reads it: as it is now, since rich puts itself in its place meanwhile."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._stream, self._is_gone = sys.stderr, False

    def write(self, text: str) -> int:
        """Write; once that fails it is logged, and all that follows is lost."""
        if not self._is_gone:
            try:
                self._stream.write(text)
            except (OSError, ValueError):
                self._leave()
        return len(text)

    def flush(self) -> None:
        """Flush, under the same conditions."""
        if not self._is_gone:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._leave()

    def isatty(self) -> bool:
        """Whether somebody sits there."""
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        """Return the file's number: rich asks it for the width."""
        return int(self._stream.fileno())

    def _leave(self) -> None:
        self._is_gone = True
        log.info("the terminal is closed; the run goes on without it")


def print_result(text: str, *, to_stderr: bool = False) -> None:
    """Print what a command came to; a reader that has gone, such as `head`, is no fault of the command's."""
    stream: IO[Any] = sys.stderr if to_stderr else sys.stdout
    try:
        print(text, file=stream, flush=True)
    except OSError:
        drop_output()


def drop_output() -> None:
    """Send what is still to be written to standard output nowhere: Python would complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
