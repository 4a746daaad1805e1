"""One process at a time trains in a run's folder."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from parcade.errors import RunError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


_OWN: set[tuple[int, int]] = set()  # device and inode of the locks that this process holds


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
        own = os.fstat(file.fileno())
        _OWN.add((own.st_dev, own.st_ino))
        try:
            yield
        finally:
            _OWN.discard((own.st_dev, own.st_ino))
        os.ftruncate(file.fileno(), 0)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock at ``path``; asking takes nothing from it."""
    try:
        found = os.stat(path)
        if (found.st_dev, found.st_ino) in _OWN:  # to open and close the file would give our own lock back
            return True
        with open(path, "rb") as file:
            return fcntl is not None and _is_descriptor_locked(file.fileno())
    except OSError:
        return False


def _is_descriptor_locked(descriptor: int) -> bool:
    """Ask the kernel, on Linux without taking the lock for a moment."""
    if sys.platform == "linux":
        asked = struct.pack("@hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = struct.unpack("@hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        return bool(kind != fcntl.F_UNLCK)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    return False
