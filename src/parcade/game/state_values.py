"""The plain values of a title's state record, by name, for people to look at."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

Value = bool | int | float | str


def state_values(state: Any) -> dict[str, Value]:
    """Return the plain values of a state: of a named tuple, a dataclass or a class with properties."""
    if hasattr(state, "_fields"):
        names = list(state._fields)
    elif is_dataclass(state):
        names = [field.name for field in fields(state)]
    else:
        names = [name for name, what in vars(type(state)).items() if isinstance(what, property)]
    values = {name: getattr(state, name) for name in names if not name.startswith("_")}
    return {name: value for name, value in values.items() if isinstance(value, bool | int | float | str)}
