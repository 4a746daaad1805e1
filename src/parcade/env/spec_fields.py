"""What each field of an env spec may hold in a file, where nothing else has checked it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from parcade.errors import SettingsError
from parcade.host.input_file import short

Check = Callable[[Any], bool]
_DEEPEST = 8  # of lists and mappings in arguments of an env


class Kind(NamedTuple):
    """What a field may hold: in words, and as a test of a value."""

    wanted: str
    fits: Check


def check_fields(data: Any, preprocessing: Mapping[str, Kind]) -> None:
    """Raise SettingsError, in one sentence, for an unknown field or a value of another kind than its field's.

    ``preprocessing`` are the kinds of the fields that the record of preprocessing names.
    """
    if not isinstance(data, Mapping):
        raise SettingsError(f"the env spec is a {type(data).__name__}, wanted fields by name")
    kinds = {**_FIELDS, **preprocessing}
    unknown = sorted(str(name)[:100] for name in data if name not in kinds)
    if unknown:
        raise SettingsError(f"env spec has unknown keys: {', '.join(unknown[:10])}")
    for name, value in data.items():
        if not kinds[name].fits(value):
            raise SettingsError(f"the env spec's {name} is {short(value)}, wanted {kinds[name].wanted}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 4096 and "\0" not in value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53


def _is_side(value: Any) -> bool:
    return _is_whole(value) and 1 <= value <= 4096


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _or_none(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _list_of(fits: Check, length: int | None = None) -> Check:
    return lambda value: (
        isinstance(value, list | tuple) and length in (None, len(value)) and all(fits(part) for part in value)
    )


def _by_name(fits: Check) -> Check:
    return lambda value: isinstance(value, Mapping) and all(_is_text(k) and fits(v) for k, v in value.items())


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether JSON could hold it, and not too deep."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, list | tuple):
        return all(_is_plain(part, depth + 1) for part in value)
    if isinstance(value, Mapping):
        return all(_is_text(key) and _is_plain(part, depth + 1) for key, part in value.items())
    return value is None or _is_text(value) or _is_flag(value) or _is_number(value)


TEXT_OR_NONE = Kind("text or nothing", _or_none(_is_text))
FLAG = Kind("true or false", _is_flag)
FLAG_OR_NONE = Kind("true, false or nothing", _or_none(_is_flag))
WHOLE = Kind("a whole number", _is_whole)
WHOLE_OR_NONE = Kind("a whole number or nothing", _or_none(_is_whole))
NUMBER_OR_NONE = Kind("a number or nothing", _or_none(_is_number))
NUMBERS_OR_NONE = Kind("numbers or nothing", _or_none(_list_of(_is_number)))
FEW = Kind("a whole number up to 64", lambda value: _is_whole(value) and value <= 64)
FOUR_SIDES = Kind("four whole numbers or nothing", _or_none(_list_of(_is_whole, 4)))
SIZE = Kind("two whole numbers up to 4,096, or nothing", _or_none(_list_of(_is_side, 2)))

_FIELDS: dict[str, Kind] = {
    **dict.fromkeys(("game", "env_id", "rom", "state"), TEXT_OR_NONE),
    **dict.fromkeys(("console", "observation"), Kind("text", _is_text)),
    "imports": Kind("a list of modules", _list_of(_is_text)),
    "info_keys": Kind("a list of names", _list_of(_is_text)),
    **dict.fromkeys(("env_kwargs", "game_options"), Kind("plain values by name", _by_name(_is_plain))),
    "guide": Kind("a guide as plain values or nothing", _or_none(_by_name(_is_plain))),
    "reward_weights": Kind("numbers by name", _by_name(_is_number)),
    **dict.fromkeys(("render", "visited"), FLAG),
}
