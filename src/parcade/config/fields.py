"""How a setting is written down: its default, its group and its meaning."""

from __future__ import annotations

import os
from typing import Any

from pydantic import Field


def setting(default: Any, group: str, text: str, **limits: Any) -> Any:
    """Return the field of one setting."""
    return Field(default=default, description=text, json_schema_extra={"group": group}, **limits)


def path_like(text: str) -> str:
    """Return text that can be a file's name: no NUL, nothing that has no bytes."""
    if "\0" in text or len(text) > 4096:
        raise ValueError("wanted text without NUL, of 4,096 characters at most")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("wanted text that can be written") from None
    return text


def of_length(value: Any, length: int, names: str) -> Any:
    """Return the value; a list of another length is refused."""
    if isinstance(value, list | tuple) and len(value) != length:
        raise ValueError(f"wanted {length} numbers ({names})")
    return value
