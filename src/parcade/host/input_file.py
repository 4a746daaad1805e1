"""Files from outside: read only where they are files, of a size that makes sense, and JSON without doubles."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any


def read_input(path: str | Path, largest: int) -> bytes:
    """Return the bytes of a regular file of at most ``largest`` bytes; raise OSError, with words, for anything else.

    A pipe or a device is not opened: it could hold the reader up or never end.
    """
    try:
        size = checked_size(path, largest)
        with open(path, "rb") as file:
            data = file.read(largest + 1)  # not more than there was: it may grow while it is read
    except ValueError:  # os.stat says so of a NUL
        raise OSError(errno.EINVAL, "its path is not valid") from None
    if len(data) > largest:
        raise OSError(errno.EFBIG, _too_large(max(size, len(data)), largest))
    return data


def checked_size(path: str | Path, largest: int) -> int:
    """Return the size of a regular file; raise OSError as ``read_input`` does, ValueError for a path with a NUL."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
    if found.st_size > largest:
        raise OSError(errno.EFBIG, _too_large(found.st_size, largest))
    return found.st_size


def parse_json(text: str | bytes) -> Any:
    """Return what JSON text holds; raise ValueError for a key given twice and for nesting that has no end."""
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def short(value: Any, most: int = 100) -> str:
    """Return a value for a message: its beginning, where it is long.

    >>> short([1] * 1000, 12)
    '[1, 1, 1, …'
    """
    text = _bounded_repr(value, most)
    return text if len(text) <= most else f"{text[: most - 2].rstrip()}…"


def _bounded_repr(value: Any, most: int, depth: int = 0) -> str:
    """Return about ``most`` characters of a value's repr without making the rest, which may fill the memory."""
    if depth > 4:
        return "…"
    if isinstance(value, str | bytes):
        return repr(value[: most + 1])
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"a number of {value.bit_length():,} bits"
    if not isinstance(value, list | tuple | dict):
        return repr(value)
    parts: list[str] = []
    items = value.items() if isinstance(value, dict) else value
    for item in items:
        if isinstance(value, dict):
            key, part = item
            parts.append(f"{_bounded_repr(key, most, depth + 1)}: {_bounded_repr(part, most, depth + 1)}")
        else:
            parts.append(_bounded_repr(item, most, depth + 1))
        if sum(map(len, parts)) > most:
            break
    opened, closed = ("{", "}") if isinstance(value, dict) else ("(", ")") if isinstance(value, tuple) else ("[", "]")
    return f"{opened}{', '.join(parts)}{',' if isinstance(value, tuple) and len(value) == 1 else ''}{closed}"


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{short(twice)} is given twice")
    return made


def _too_large(size: int, largest: int) -> str:
    return f"it has {size:,} bytes, the most is {largest:,}"
