"""Flags made from the settings: one place says what a setting is, help and parsing follow."""

from __future__ import annotations

import argparse
import json
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union, get_args, get_origin

from parcade.config import settings
from parcade.config.fitting import whole_number as whole_number_of
from parcade.config.other_names import our_name
from parcade.config.settings import TrainSettings
from parcade.errors import UserError

if TYPE_CHECKING:
    from parcade.env.spec import Watch

GROUPS = {
    "what": "what to play",
    "observation": "what the policy sees",
    "parallel": "how many games at once",
    "ppo": "how it learns",
    "run": "what is kept",
}
_EXTRA_NAMES = {"imports": ("--import",), "total_timesteps": ("--timesteps",)}
_ONLY_IN_PYTHON = ("env_factory",)
LARGEST_SPEED = 64
_SHORT_FORMS = {"racing": {"--fast": "fast", "--official": "official"}}


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

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an unknown flag is answered with the nearest one of the verb that was meant."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            verb = getattr(found, "parser", self)
            flag = unknown[0].partition("=")[0]
            raise UsageError(
                f"{verb.prog} does not know {flag}{our_name(flag, verb._option_string_actions)}; "
                f"`{verb.prog} --help` lists its flags"
            )
        return found


def add_setting_flags(parser: argparse.ArgumentParser, only: set[str] | None = None) -> None:
    """Add a flag for every setting (or only some); flags not given leave no trace in the result."""
    groups = {key: parser.add_argument_group(title) for key, title in GROUPS.items()}
    for name, field in TrainSettings.model_fields.items():
        if name in _ONLY_IN_PYTHON or (only is not None and name not in only):
            continue
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        names = [f"--{name.replace('_', '-')}", *_EXTRA_NAMES.get(name, ())]
        options = _options(field.annotation)
        text = (field.description or "").replace("%", "%%")
        if field.default not in (None, (), {}) and "[" not in text:
            text += f" [{_show(field.default)}]"
        group = groups[str(extra["group"])]
        group.add_argument(*names, dest=name, default=argparse.SUPPRESS, help=text, **options)
        for word, meaning in _SHORT_FORMS.get(name, {}).items():
            note = f"short for --{name.replace('_', '-')} {meaning}"
            how: dict[str, Any] = {"action": "store_const", "const": meaning, "default": argparse.SUPPRESS}
            group.add_argument(word, dest=name, help=note, **how)


def add_window_flags(parser: argparse.ArgumentParser) -> None:
    """Add what opens a window beside a run."""
    group = parser.add_argument_group("watching")
    group.add_argument(
        "--visual", action="store_true", help="open a window that shows each game and what the policy sees"
    )
    group.add_argument(
        "--render-freq", type=whole_number, metavar="N", help="draw every N steps [as often as is cheap]"
    )
    group.add_argument("--visual-only-preproc", action="store_true", help="show only what the policy sees")
    group.add_argument(
        "--visual-scale", type=whole_number, metavar="N", help="enlarge pictures N times [as large as fits]"
    )


def add_speed_flag(parser: argparse.ArgumentParser) -> None:
    """Add how fast a window shows a game."""
    text = "speed as a multiple of the game's own; 0: no limit [1]"
    parser.add_argument("--speed", type=_speed, metavar="X", help=text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= LARGEST_SPEED:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed, wanted 0 to {LARGEST_SPEED}")
    return speed


@contextmanager
def opened_window(arguments: argparse.Namespace, title: str, speed: float | None = None) -> Iterator[Watch | None]:
    """Open the window that was asked for and give what the envs need to know of it; None if none was.

    With a ``speed`` its games wait for the window: they keep that pace and can be paused.
    """
    details = {
        "--render-freq": arguments.render_freq,
        "--visual-scale": arguments.visual_scale,
        "--visual-only-preproc": arguments.visual_only_preproc or None,
    }
    for flag, value in details.items():
        if value is not None and not arguments.visual:
            raise UsageError(f"{flag} says how a window looks; add --visual to open one")
        if value is not None and value < 1:
            raise UsageError(f"{flag} is {value}, wanted 1 or more")
    if not arguments.visual:
        yield None
        return
    from parcade.env.spec import Watch
    from parcade.view.launch import window

    only = arguments.visual_only_preproc
    with window(f"{title} - Parcade", scale=arguments.visual_scale, only_preproc=only, speed=speed) as folder:
        yield Watch(folder, arguments.render_freq, raw=not only, speed=speed)


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


def choices(annotation: Any) -> list[str]:
    """Return the values a setting may have, if they can be counted."""
    found: list[str] = _options(annotation).get("choices", [])
    return found


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
        part = get_args(kind)[0]
        metavar = {int: "N,N", float: "X,…"}.get(part, "NAME,…")
        return {"type": _numbers if part is int else settings.words, "metavar": metavar}
    return {"metavar": "TEXT"}


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def whole_number(text: str) -> int:
    """Read 1000000, 1_000_000, 1e6, 250k or 2M."""
    try:
        return whole_number_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(whole_number(part) for part in settings.words(text.replace("x", ",")))


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
