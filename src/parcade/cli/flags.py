"""Flags made from the settings: one place says what a setting is, help and parsing follow."""

from __future__ import annotations

import argparse
import json
import types
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

from parcade.errors import UserError, did_you_mean
from parcade.settings import TrainSettings

GROUPS = {
    "what": "what to play",
    "observation": "what the policy sees",
    "parallel": "how many games at once",
    "ppo": "how it learns",
    "run": "what is kept",
}
_EXTRA_NAMES = {"imports": ("--import",), "total_timesteps": ("--timesteps",)}


class UsageError(UserError):
    """The command line itself cannot be understood."""


class Parser(argparse.ArgumentParser):
    """argparse with errors as one sentence and a hint at the nearest flag."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs["allow_abbrev"] = False
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing a page of usage."""
        raise UsageError(f"{message}; `{self.prog} --help` lists what can be said")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse; an unknown flag is answered with the nearest one of the verb that was meant."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            verb = getattr(found, "parser", self)
            flag = unknown[0].partition("=")[0]
            raise UsageError(
                f"{verb.prog} does not know {flag}{did_you_mean(flag, verb._option_string_actions)}; "
                f"`{verb.prog} --help` lists its flags"
            )
        return found


def add_setting_flags(parser: argparse.ArgumentParser, only: set[str] | None = None) -> None:
    """Add a flag for every setting (or only some); flags not given leave no trace in the result."""
    groups = {key: parser.add_argument_group(title) for key, title in GROUPS.items()}
    for name, field in TrainSettings.model_fields.items():
        if only is not None and name not in only:
            continue
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        names = [f"--{name.replace('_', '-')}", *_EXTRA_NAMES.get(name, ())]
        options = _options(field.annotation)
        text = (field.description or "").replace("%", "%%")
        if field.default not in (None, (), {}) and "[" not in text:
            text += f" [{_show(field.default)}]"
        groups[str(extra["group"])].add_argument(*names, dest=name, default=argparse.SUPPRESS, help=text, **options)


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given as flags."""
    return {name: value for name, value in vars(arguments).items() if name in TrainSettings.model_fields}


def _show(value: Any) -> str:
    return (
        ("on" if value else "off")
        if isinstance(value, bool)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _options(annotation: Any) -> dict[str, Any]:
    kind = _without_none(annotation)
    origin = get_origin(kind)
    if origin is Literal:
        return {"choices": list(get_args(kind))}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if kind is int:
        return {"type": whole_number, "metavar": "N"}
    if kind is float:
        return {"type": float, "metavar": "X"}
    if origin is dict:
        return {"type": _pairs, "metavar": "K=V,…"}
    if origin is tuple:
        numbers = get_args(kind)[0] is int
        return {"type": _numbers if numbers else _words, "metavar": "N,N" if numbers else "NAME,…"}
    return {"metavar": "TEXT"}


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def whole_number(text: str) -> int:
    """Read 1000000, 1_000_000, 1e6, 250k or 2M."""
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        number = float(text[:-1] if factor > 1 else text.replace("_", "")) * factor
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part for part in text.replace("x", ",").split(",") if part]
    numbers = tuple(whole_number(part) for part in parts)
    return numbers


def _words(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _pairs(text: str) -> dict[str, Any]:
    pairs = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{part!r} is not key=value")
        try:
            pairs[key.strip()] = json.loads(value)
        except ValueError:
            pairs[key.strip()] = value
    return pairs
