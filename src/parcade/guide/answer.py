"""From a model's text to plain data: JSON, found in whatever stands around it, bounded, with clean text."""

from __future__ import annotations

import json
from typing import Any

from parcade.host.input_file import parse_json

LONGEST = 200_000  # characters of an answer that are looked at
_DEEPEST = 8


def data_of(text: str) -> Any:
    """Return the JSON object that an answer holds; raise ValueError, in words, where it holds none.

    Models like to put a sentence or a fence of backticks around it. Nothing of the text is run.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters, the most is {LONGEST:,}")
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        raise ValueError("it holds no JSON object")
    try:
        return cleaned(parse_json(text[first : last + 1]))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error.msg} at character {first + error.pos + 1}") from None


def cleaned(value: Any, depth: int = 0) -> Any:
    """Return data whose text has no control characters: they would move a terminal's cursor."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    if isinstance(value, list):
        return [cleaned(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(part, depth + 1) for key, part in value.items()}
    return value
