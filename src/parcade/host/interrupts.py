"""One Ctrl-C is obeyed; those that follow do not cut short the clean-up it started."""

from __future__ import annotations

import time
from typing import Any

from parcade.host.stuck_watch import end_at_once

PATIENCE_S = 10.0  # for the clean-up; a further Ctrl-C after that ends the process
_raised_at_s: float | None = None


def interrupt(number: int, frame: Any) -> None:
    """Raise KeyboardInterrupt, but only once until ``heed_again``; a signal handler.

    A second exception inside the clean-up of the first one would leave workers and shared memory behind.
    """
    global _raised_at_s
    if _raised_at_s is None:
        _raised_at_s = time.monotonic()
        raise KeyboardInterrupt
    if time.monotonic() - _raised_at_s > PATIENCE_S:
        end_at_once(number, "cleaning up takes too long")


def heed_again() -> None:
    """Have the next Ctrl-C raise again: the last one is dealt with, and the program goes on."""
    global _raised_at_s
    _raised_at_s = None
