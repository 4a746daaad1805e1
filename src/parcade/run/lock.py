"""One process at a time trains in a run's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from parcade.errors import RunError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``; the kernel gives it back when this process ends, however it ends.

    A record lock belongs to one process: workers forked from it do not keep it when it is killed.
    """
    path.parent.mkdir(exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        if fcntl is not None:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise RunError(
                    f"{path.parents[1]} is being trained by {holder}: wait for it, or stop it first"
                ) from None
            except OSError:  # a file system without locks
                pass
        os.ftruncate(file.fileno(), 0)
        with suppress(OSError):  # a full disk: the lock holds without the name
            os.write(file.fileno(), f"process {os.getpid()}".encode())
        yield
        os.ftruncate(file.fileno(), 0)
