"""The one shared block: a memory-mapped file with a row per slot."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import PoolError
from parcade.pool.layout import POISON, SlabLayout

_COUNTERS = ("steps_done", "beats", "current_slot", "episode", "running_length")


class Slab:
    """Arrays over one file; ``create`` makes it and unlinks it on close, ``attach`` only maps it."""

    def __init__(self, path: Path, layout: SlabLayout, block: mmap.mmap, owner: bool) -> None:
        self.path, self.layout = path, layout
        self.arrays: dict[str, npt.NDArray[Any]] = {
            place.name: np.ndarray(place.shape, place.dtype, block, place.offset) for place in layout.places
        }
        # Also runs when the slab is forgotten or the program ends without close().
        self._remove = weakref.finalize(self, _remove, path, os.getpid()) if owner else None

    @classmethod
    def create(cls, layout: SlabLayout) -> Slab:
        """Make a poisoned slab: a row nobody wrote is seen at once."""
        sweep_stale()
        path = _folder() / f"parcade-{os.getpid()}-{_stat(os.getpid())[1]}-{secrets.token_hex(4)}.slab"
        try:
            with open(path, "xb") as file:
                _reserve(file.fileno(), layout.size)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise PoolError(
                f"the shared block of {layout.size >> 20} MiB cannot be made in {path.parent}: {error.strerror}; "
                "use fewer envs, fewer steps or smaller observations"
            ) from None
        try:
            slab = cls(path, layout, _map(path, layout.size), owner=True)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        slab.poison()
        return slab

    @classmethod
    def attach(cls, path: str | Path, layout: SlabLayout) -> Slab:
        """Map a slab another process made."""
        return cls(Path(path), layout, _map(Path(path), layout.size), owner=False)

    def poison(self) -> None:
        """Fill all rows with values no env writes; counters start at zero, and no worker is in a slot yet."""
        for name, array in self.arrays.items():
            if name in _COUNTERS:
                array[...] = -1 if name == "current_slot" else 0
            elif array.dtype.kind == "f":
                array[...] = np.nan
            else:
                array.view(np.uint8)[...] = POISON

    def leaves(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of one space by leaf name; prefix is obs, final or action."""
        start = f"{prefix}:"
        return {name[len(start) :]: array for name, array in self.arrays.items() if name.startswith(start)}

    def close(self) -> None:
        """Unlink the file if this process made it; the mapping itself goes with the last array."""
        self.arrays = {}
        if self._remove is not None:
            self._remove()


def _remove(path: Path, maker: int) -> None:
    if os.getpid() == maker:  # a forked worker holds a copy of the slab and must leave the file alone
        path.unlink(missing_ok=True)


def _reserve(fd: int, size: int) -> None:
    """Give the file its size and its memory: a full disk shows here, not as SIGBUS later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    else:
        os.ftruncate(fd, size)


def _map(path: Path, size: int) -> mmap.mmap:
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), size)


def _folder() -> Path:
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def _stat(pid: int) -> tuple[str, str]:
    """Return a process's state and when it began, as the kernel counts; tells it from a later one with its pid."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "?", "0"


def sweep_stale() -> list[Path]:
    """Remove slabs whose maker is gone (killed with SIGKILL); return them."""
    removed = []
    for path in _folder().glob("parcade-*-*-*.slab"):
        _, pid, started, _ = path.stem.split("-", 3)
        if pid.isdigit() and not _is_alive(int(pid), started):
            with contextlib.suppress(OSError):  # another user's, or swept by another process just now
                path.unlink()
                removed.append(path)
    return removed


def _is_alive(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    state, began = _stat(pid)
    return state != "Z" and began in (started, "0")
