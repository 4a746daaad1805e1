"""The limit of a process's address space (`ulimit -v`): said in one sentence where it is too small."""

from __future__ import annotations

import errno

from parcade.errors import UserError

_SIGNS = ("failed to map segment", "cannot allocate memory", "can't allocate memory", "can't start new thread")


def allowed_bytes() -> int | None:
    """Return how many bytes this process may map; None where nothing limits it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def check_address_space(needed_mb: int, what: str) -> None:
    """Raise UserError where less is allowed than ``what`` needs before it does anything."""
    allowed = allowed_bytes()
    if allowed is not None and allowed < needed_mb << 20:
        raise _too_small(f"{what} needs about {needed_mb:,} MB before it does anything")


def shortage(error: BaseException) -> UserError | None:
    """Return what to say of an error that came of a small address space; None if it did not."""
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if allowed_bytes() is None or not (is_memory or any(sign in str(error).lower() for sign in _SIGNS)):
        return None
    return _too_small("this command needs more")


def _too_small(why: str) -> UserError:
    allowed = (allowed_bytes() or 0) >> 20
    return UserError(
        f"this process may use {allowed:,} MB of address space (ulimit -v), but {why}; "
        "raise it, for example with `ulimit -v unlimited`"
    )
