"""Open a window beside a run and take it away again."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parcade.errors import MissingExtraError, UserError
from parcade.view.beside import end

_PREFIX = "parcade-window-"
_START_DEADLINE_S = 60.0
_END_DEADLINE_S = 10.0


@contextmanager
def window(
    title: str, *, scale: int | None = None, only_preproc: bool = False, speed: float | None = None
) -> Iterator[str]:
    """Give the folder in which the window looks for pictures; it is open by then, or one sentence says why not."""
    sweep_stale()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_place())
    command = [sys.executable, "-m", "parcade.view.window", folder, "--title", title]
    command += ["--scale", str(scale)] if scale else []
    command += ["--only-preproc"] if only_preproc else []
    command += ["--speed", str(speed)] if speed is not None else []
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _wait_for_it(process)
            yield folder
        finally:
            end(process, _END_DEADLINE_S)  # the run does not wait for a window that hangs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_stale() -> None:
    """Remove the folders of runs that were killed together with their windows."""
    for folder in _place().glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (ValueError, PermissionError):
            continue


def _place() -> Path:
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def _wait_for_it(process: subprocess.Popen[str]) -> None:
    """Return when the window is open; a process that ends closes its stdout, so nothing is waited for in vain."""
    assert process.stdout is not None
    heard, _, _ = select.select([process.stdout], [], [], _START_DEADLINE_S)
    answer = process.stdout.readline().strip() if heard else f"no window within {_START_DEADLINE_S:.0f} s"
    if answer.startswith("needs"):
        raise MissingExtraError(f"--visual {answer}")
    if answer != "ready":
        reason = answer or "the window's process ended at once"
        raise UserError(f"--visual: {reason}; leave --visual out, and --video writes an mp4 of the agent instead")
