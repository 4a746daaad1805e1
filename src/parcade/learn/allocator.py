"""The C allocator, told to keep what the learner frees."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h of glibc


def keep_freed_memory() -> bool:
    """Make glibc reuse large freed blocks instead of handing them back to the system; False where there is no glibc.

    Every minibatch frees and asks again for the same tens of megabytes. By default each of these blocks is mapped
    anew and faulted in page by page, which costs pictures about a fifth of the learning time. The process keeps its
    peak size from now on.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_M_TOP_PAD, 64 << 20))
