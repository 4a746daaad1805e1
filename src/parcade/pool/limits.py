"""What the operating system allows this process to open."""

from __future__ import annotations

import contextlib
import os

from parcade.errors import PoolError

FILES_PER_WORKER = 6  # two pipes, the process's own, and what starting one needs for a moment
SPARE_FILES = 64  # for run files, sockets and whatever else is opened later


def allow_files(n_workers: int) -> None:
    """Raise this process's limit of open files where ``n_workers`` need more, or say what to do."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _open_files() + n_workers * FILES_PER_WORKER + SPARE_FILES
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise PoolError(
            f"{n_workers} workers need about {needed} open files, but this machine allows {hard}; "
            "use fewer workers (--n-workers 0 runs all games in this process) or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _open_files() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return len(os.listdir(folder))
    return 64
