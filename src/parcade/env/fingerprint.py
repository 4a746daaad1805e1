"""SHA-1s of files a run was begun with, so that going on needs no second asking for them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from parcade.host.input_file import read_input

LARGEST = 64 << 20  # of a ROM or of one save state


def fingerprint(path: str | Path) -> str | None:
    """Return the SHA-1 of a file, or of all files of a folder; None for what is not the user's own regular file.

    A pipe or a device is not opened, nor what belongs to neither the user nor the system.
    """
    try:
        place = Path(path)
        if not place.is_dir():
            return _sha1(place)
        sums = [_sha1(file) for file in sorted(place.iterdir()) if file.is_file()]
    except (OSError, ValueError):  # a pipe, a device, a giant; a NUL in the path
        return None
    whole = "".join(sum_ or "" for sum_ in sums)
    return hashlib.sha1(whole.encode(), usedforsecurity=False).hexdigest() if all(sums) and sums else None


def _sha1(file: Path) -> str | None:
    if file.stat().st_uid not in (os.getuid(), 0):
        return None
    return hashlib.sha1(read_input(file, LARGEST), usedforsecurity=False).hexdigest()
