"""The one shared block: a memory-mapped file with a row per slot."""

from __future__ import annotations

import mmap
import os
import secrets
import tempfile
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
        self._block, self._owner = block, owner
        self.arrays: dict[str, npt.NDArray[Any]] = {
            place.name: np.ndarray(place.shape, place.dtype, block, place.offset) for place in layout.places
        }

    @classmethod
    def create(cls, layout: SlabLayout) -> Slab:
        """Make a poisoned slab: a row nobody wrote is seen at once."""
        sweep_stale()
        path = _folder() / f"parcade-{os.getpid()}-{_start_time(os.getpid())}-{secrets.token_hex(4)}.slab"
        try:
            with open(path, "xb") as file:
                os.posix_fallocate(file.fileno(), 0, layout.size)  # a full disk shows here, not as SIGBUS later
        except OSError as error:
            path.unlink(missing_ok=True)
            raise PoolError(
                f"the shared block of {layout.size >> 20} MiB cannot be made in {path.parent}: {error.strerror}; "
                "use fewer envs or smaller observations"
            ) from None
        slab = cls(path, layout, _map(path, layout.size), owner=True)
        slab.poison()
        return slab

    @classmethod
    def attach(cls, path: str | Path, layout: SlabLayout) -> Slab:
        """Map a slab another process made."""
        return cls(Path(path), layout, _map(Path(path), layout.size), owner=False)

    def poison(self) -> None:
        """Fill all rows with values no env writes; counters start at zero."""
        for name, array in self.arrays.items():
            if name in _COUNTERS:
                array[...] = 0
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
        if self._owner:
            self._owner = False
            self.path.unlink(missing_ok=True)


def _map(path: Path, size: int) -> mmap.mmap:
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), size)


def _folder() -> Path:
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def _start_time(pid: int) -> str:
    """Return when a process began, as the kernel counts; tells a process from a later one with the same pid."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def sweep_stale() -> list[Path]:
    """Remove slabs whose maker is gone (killed with SIGKILL); return them."""
    removed = []
    for path in _folder().glob("parcade-*-*-*.slab"):
        _, pid, started, _ = path.stem.split("-", 3)
        if pid.isdigit() and not _is_alive(int(pid), started):
            path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def _is_alive(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _start_time(pid) in (started, "0")
