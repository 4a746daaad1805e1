"""Metrics that a Gymnasium env tells in its ``info``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

SUCCESS, IS_SUCCESS = "success", "is_success"
RAW_RETURN = "raw_return"  # the env's own rewards summed, where training counts others


class InfoMetrics:
    """Reads ``is_success``, as ``success``, and the keys a user named from the last info of an episode.

    What an info lacks, or holds as no number, is NaN: the env did not say.

    >>> InfoMetrics(("level",)).names
    ('success', 'level')
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        named = [key for key in dict.fromkeys(keys) if key not in (IS_SUCCESS, SUCCESS, RAW_RETURN)]
        self.names: tuple[str, ...] = (SUCCESS, *named)
        self._keys = (IS_SUCCESS, *named)

    def values(self, info: Mapping[str, Any]) -> list[float]:
        """Return the values of ``names``."""
        return [_number(info.get(key)) for key in self._keys]


def _number(value: Any) -> float:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    return float(value) if isinstance(value, bool | np.bool_ | Real) else math.nan
