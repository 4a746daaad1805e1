"""The shape of an answer as a JSON schema, for servers that can hold a model to one; every answer is checked anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parcade.game.fields import FieldMeaning
from parcade.game.guide import LONGEST_HINT, MOST_REWARD

MOST_WRITTEN = 24  # milestones of one answer
_MOST_CONDITIONS = 120
_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9_]{2,30}$"}
_HINT = {"type": "string", "maxLength": min(LONGEST_HINT, 160)}
Fields = Mapping[str, FieldMeaning]


def guide_schema(fields: Fields, *, simple: bool = False) -> dict[str, Any]:
    """Return the schema of a guide; with ``simple`` conditions are chosen from a list, which a small model needs."""
    when = {"enum": simple_conditions(fields)} if simple else {"type": "string", "maxLength": 300}
    reward = {"enum": [0.5, 1, 2, 5]} if simple else {"type": "number", "minimum": 0, "maximum": MOST_REWARD}
    milestone: dict[str, Any] = {"name": _NAME, "when": when, "reward": reward, "hint": _HINT}
    wanted = list(milestone)
    if not simple:
        milestone["after"] = {"type": "array", "maxItems": 8, "items": _NAME}
    one = {"type": "object", "properties": milestone, "required": wanted, "additionalProperties": False}
    most = {"type": "array", "minItems": 3, "maxItems": 6 if simple else MOST_WRITTEN, "items": one}
    return _object({"milestones": most})


def simple_conditions(fields: Fields) -> list[str]:
    """Return conditions of one field each that can hold: the numbers in a field's range, the names of its values."""
    found: list[str] = []
    for name, field in fields.items():
        if field.kind == "flag":
            found.append(name)
        elif field.values:
            found += [f"{name} == '{value}'" for value in list(field.values)[:8]]
        else:
            steps = (1, 2, 3) if field.high - field.low < 300 else (1, 10, 50)
            found += [f"{name} >= {field.low + step:g}" for step in steps if field.low + step <= field.high]
    return found[:_MOST_CONDITIONS]


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
