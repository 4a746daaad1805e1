"""A title's options: the parameters its class declares, checked before it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from parcade.errors import SettingsError, did_you_mean
from parcade.host.input_file import short

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def check_options(name: str, title: type[Any], given: Mapping[str, Any]) -> None:
    """Raise SettingsError for an option that ``title`` does not declare, or whose value is of another kind."""
    if not given:
        return
    parameters = inspect.signature(title).parameters
    known = {key: parameter for key, parameter in parameters.items() if parameter.kind in _NAMED}
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    unknown = [key for key in given if key not in known]
    if unknown and not takes_any:
        raise SettingsError(_unknown_option(name, unknown, list(known)))
    for key in set(known) & set(given):
        wanted = _kind(known[key])
        if wanted is not None and not _fits(given[key], wanted):
            raise SettingsError(f"{name}: {key} is {short(given[key])}, wanted {_WORDS[wanted]}")


_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _kind(parameter: inspect.Parameter) -> type | None:
    """Return what kind of value a parameter takes, told by its default; None where that does not tell it."""
    kind = type(parameter.default)
    return kind if kind in _WORDS else None


def _fits(value: Any, wanted: type) -> bool:
    if isinstance(value, bool):  # which is an int to Python
        return wanted is bool
    return isinstance(value, int | float if wanted is float else wanted)


def _unknown_option(name: str, unknown: list[str], known: list[str]) -> str:
    if not known:
        return f"{name} has no options, got {', '.join(short(key) for key in unknown[:10])}"
    wrong = ", ".join(f"{short(key)}{did_you_mean(str(key)[:100], known)}" for key in unknown[:10])
    return f"{name} has no option {wrong}; it has {', '.join(known)}"
