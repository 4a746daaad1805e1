"""Processes that a viewer or a training starts beside itself: each ends when its stdin is closed."""

from __future__ import annotations

import contextlib
import subprocess


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes], deadline_s: float) -> None:
    """Close its stdin, which ends it, and wait; one that hangs is killed. Twice is fine."""
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    try:
        process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()  # type: ignore[union-attr]
