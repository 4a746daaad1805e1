"""What is wrong with one value of one setting, whatever the others are."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from parcade.config.faults import sentences
from parcade.config.settings import TrainSettings


def value_faults(name: str, value: Any) -> list[str]:
    """Return what speaks against a setting's value; nothing where it only does not go with other settings.

    >>> value_faults("gamma", 1.5)
    ['gamma is 1.5, wanted 1 or less']
    >>> value_faults("gamma", 0.9)
    []
    """
    try:
        TrainSettings(**{name: value})
    except ValidationError as error:
        is_own = any(fault["loc"] and fault["loc"][0] == name for fault in error.errors(include_url=False))
        return sentences(error) if is_own else []
    return []
