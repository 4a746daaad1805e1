"""What each field of an env spec may hold in a file, where nothing else has checked it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from parcade.errors import SettingsError
from parcade.host.input_file import short

Check = Callable[[Any], bool]
_DEEPEST = 8  # of lists and mappings in arguments of an env


def check_fields(data: Any) -> None:
    """Raise SettingsError, in one sentence, for an unknown field or a value of another kind than its field's."""
    if not isinstance(data, Mapping):
        raise SettingsError(f"the env spec is a {type(data).__name__}, wanted fields by name")
    unknown = sorted(str(name)[:100] for name in data if name not in _FIELDS)
    if unknown:
        raise SettingsError(f"env spec has unknown keys: {', '.join(unknown[:10])}")
    for name, value in data.items():
        wanted, fits = _FIELDS[name]
        if not fits(value):
            raise SettingsError(f"the env spec's {name} is {short(value)}, wanted {wanted}")


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


_FIELDS: dict[str, tuple[str, Check]] = {
    **dict.fromkeys(("game", "env_id", "rom", "state"), ("text or nothing", _or_none(_is_text))),
    **dict.fromkeys(("console", "observation"), ("text", _is_text)),
    "imports": ("a list of modules", _list_of(_is_text)),
    **dict.fromkeys(("env_kwargs", "game_options"), ("plain values by name", _by_name(_is_plain))),
    "reward_weights": ("numbers by name", _by_name(_is_number)),
    **dict.fromkeys(("frame_skip", "max_steps", "patience"), ("a whole number or nothing", _or_none(_is_whole))),
    "frames_stack": ("a whole number up to 64", lambda value: _is_whole(value) and value <= 64),
    "grayscale": ("true, false or nothing", _or_none(_is_flag)),
    "picture_size": ("text or nothing", _or_none(_is_text)),
    "render": ("true or false", _is_flag),
    "crop": ("four whole numbers or nothing", _or_none(_list_of(_is_whole, 4))),
    "resize": ("two whole numbers up to 4,096, or nothing", _or_none(_list_of(_is_side, 2))),
    **dict.fromkeys(("reward_clip", "missed_tile_cost"), ("a number or nothing", _or_none(_is_number))),
    "action_scale": ("numbers or nothing", _or_none(_list_of(_is_number))),
}
