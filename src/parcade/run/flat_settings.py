"""Settings as single values, for whoever shows them in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat_settings(settings: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """Return settings as single values: nothing that was left open, lists as text.

    >>> flat_settings({"seed": 1, "model": None, "hidden": [64, 64], "game_options": {"floors": 2}})
    {'seed': 1, 'hidden': '64,64', 'game_options.floors': 2}
    """
    found: dict[str, str | int | float | bool] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": part for key, part in flat_settings(value).items()}
        elif isinstance(value, list | tuple):
            found |= {name: ",".join(map(str, value))} if value else {}
        elif value is not None:
            found[name] = value if isinstance(value, bool | int | float) else str(value)
    return found
