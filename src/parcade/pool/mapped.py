"""Named arrays over one memory-mapped file that several processes share."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import secrets
import stat
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.errors import PoolError
from parcade.host.stuck_watch import at_sudden_end

ALIGNMENT = 64  # a cache line, so that two workers never write the same one at a field's border
POISON = 0xA5
_PATTERN = "parcade-*.block"


@dataclass(frozen=True, slots=True)
class Field:
    """One array: its name, shape and dtype; a sparse one takes memory only for the rows that are reserved."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    sparse: bool = False
    fill: int | None = None  # what a fresh one holds; None: poison

    @property
    def size(self) -> int:
        """Bytes of the whole array."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each array of a file stands: dense ones first, sparse ones behind them."""

    fields: tuple[Field, ...]
    offsets: tuple[int, ...]
    dense_size: int
    size: int


def plan_layout(fields: Iterable[Field]) -> Layout:
    """Return a layout with one array behind the other, each on a cache line of its own."""
    ordered = sorted(fields, key=lambda field: field.sparse)  # stable: dense ones keep their order
    offsets, offset, dense_size = [], 0, 0
    for field in ordered:
        offsets.append(offset)
        offset += -(-field.size // ALIGNMENT) * ALIGNMENT
        if not field.sparse:
            dense_size = offset
    return Layout(tuple(ordered), tuple(offsets), max(dense_size, ALIGNMENT), max(offset, ALIGNMENT))


def layout_to_json(layout: Layout) -> list[list[Any]]:
    """Return a layout as plain data."""
    return [[field.name, list(field.shape), field.dtype, field.sparse] for field in layout.fields]


def layout_from_json(data: Any) -> Layout:
    """Return the layout that ``layout_to_json`` described; raise ValueError for anything else."""
    try:
        fields = [
            Field(str(name), tuple(map(int, shape)), str(dtype), bool(sparse)) for name, shape, dtype, sparse in data
        ]
        is_plain = all(np.dtype(field.dtype).kind in "biuf" and min(field.shape, default=0) >= 0 for field in fields)
        if not is_plain:
            raise ValueError("it names arrays that are none")
        return plan_layout(fields)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"the layout of a shared file cannot be read: {error}") from None


_made: set[Path] = set()  # files of this process


class MappedArrays:
    """Arrays over one file; ``create`` makes the file and unlinks it on close, ``attach`` only maps it.

    The maker holds a lock on the file for as long as it is mapped: that is how another process knows a living one.
    """

    def __init__(self, path: Path, layout: Layout, mapping: mmap.mmap, owner: bool) -> None:
        self.path, self.layout = path, layout
        places = zip(layout.fields, layout.offsets, strict=True)
        self.arrays: dict[str, npt.NDArray[Any]] = {
            field.name: np.ndarray(field.shape, field.dtype, mapping, offset) for field, offset in places
        }
        # Also runs when the arrays are forgotten or the program ends without close().
        self._remove = weakref.finalize(self, _remove, path, os.getpid()) if owner else None
        if owner:
            _made.add(path)

    @classmethod
    def create(cls, layout: Layout) -> MappedArrays:
        """Make a poisoned file that only this user can open: a row nobody wrote is seen at once."""
        sweep_stale()
        path = _folder() / f"parcade-{os.getpid()}-{secrets.token_hex(6)}.block"
        try:
            mapping = _make(path, layout)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise PoolError(
                f"the shared block of {layout.dense_size >> 20} MiB cannot be made in {path.parent}: "
                f"{error.strerror}; use fewer envs, fewer steps or smaller observations"
            ) from None
        made = cls(path, layout, mapping, owner=True)
        made._fill()
        return made

    @classmethod
    def attach(cls, path: str | Path, layout: Layout, *, read_only: bool = False) -> MappedArrays:
        """Map a file another process made."""
        access = mmap.ACCESS_READ if read_only else mmap.ACCESS_WRITE
        with open(path, "rb" if read_only else "r+b") as file:
            return cls(Path(path), layout, mmap.mmap(file.fileno(), layout.size, access=access), owner=False)

    def reserve(self, name: str, row: int) -> None:
        """Take memory for one row of a sparse array; a full disk raises here instead of killing by SIGBUS later."""
        index = next(i for i, field in enumerate(self.layout.fields) if field.name == name)
        field = self.layout.fields[index]
        row_size = field.size // field.shape[0]
        with open(self.path, "r+b") as file:
            _take_memory(file.fileno(), self.layout.offsets[index] + row * row_size, row_size)

    def _fill(self) -> None:
        for field in self.layout.fields:
            array = self.arrays[field.name]
            if field.fill is not None:
                array[...] = field.fill
            elif not field.sparse:
                if array.dtype.kind == "f":
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


def _make(path: Path, layout: Layout) -> mmap.mmap:
    """Return a new file's mapping, which keeps the lock: a mapping holds the open file it was made from."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        os.ftruncate(fd, layout.size)
        _take_memory(fd, 0, layout.dense_size)
        if not path.exists():  # swept between its making and its lock
            return _make(path, layout)
        return mmap.mmap(fd, layout.size)
    finally:
        os.close(fd)


def _remove(path: Path, maker: int) -> None:
    if os.getpid() == maker:  # a forked worker holds a copy of the mapping and must leave the file alone
        _made.discard(path)
        path.unlink(missing_ok=True)


@at_sudden_end
def remove_all() -> None:
    """Remove every file this process has made."""
    for path in list(_made):
        path.unlink(missing_ok=True)


def _take_memory(fd: int, offset: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, offset, size)


def _folder() -> Path:
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def is_held(path: str | Path) -> bool:
    """Whether the maker of a shared file lives; only a file that a pool of this user may have made is looked at.

    A path comes from a file that anybody may have written: links, and files elsewhere, count as none of ours.
    """
    path = Path(path)
    if path.parent != _folder() or not path.match(_PATTERN):
        return False
    try:
        with _probed(path) as (found, is_locked):
            return is_locked and stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
    except OSError:
        return False


def sweep_stale() -> list[Path]:
    """Remove files that nobody has locked: their maker was killed; return them."""
    removed = []
    for path in _folder().glob(_PATTERN):
        # Errors: another user's, no plain file, or swept by another process just now.
        with contextlib.suppress(OSError), _probed(path) as (_, is_locked):
            if not is_locked:
                path.unlink()
                removed.append(path)
    return removed


@contextlib.contextmanager
def _probed(path: Path) -> Iterator[tuple[os.stat_result, bool]]:
    """Give what is known of a file, and whether its maker holds the lock; if not, it is held here meanwhile."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_locked = False
        except BlockingIOError:
            is_locked = True
        yield os.fstat(fd), is_locked
    finally:
        os.close(fd)
