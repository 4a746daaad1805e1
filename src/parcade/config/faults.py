"""Faults of settings, in our words."""

from __future__ import annotations

import re

from pydantic import ValidationError

from parcade.host.input_file import short

FAULTS_TOLD = 10  # of one kind in one sentence


def sentences(error: ValidationError) -> list[str]:
    """Return each fault that the validator found as a sentence."""
    faults = []
    for fault in error.errors(include_url=False)[:FAULTS_TOLD]:
        where = ".".join(str(part) for part in fault["loc"])
        text = _in_our_words(fault["msg"].removeprefix("Value error, "))
        joint = ", " if text.startswith("wanted") else ": "
        faults.append(f"{where[:100]} is {short(fault['input'])}{joint}{text}" if where else text)
    return faults


def _in_our_words(text: str) -> str:
    """Return what the validator says as we say it.

    >>> _in_our_words("Input should be greater than or equal to 1")
    'wanted 1 or more'
    """
    for theirs, ours in _OUR_WORDS.items():
        text = re.sub(theirs, ours, text)
    return text[0].lower() + text[1:]


_OUR_WORDS = {
    r"^Input should be greater than or equal to (.*)": r"wanted \1 or more",
    r"^Input should be less than or equal to (.*)": r"wanted \1 or less",
    r"^Input should be greater than (.*)": r"wanted more than \1",
    r"^Input should be ": "wanted ",
}
