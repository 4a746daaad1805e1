"""Flags made from the settings: one place says what a setting is, help and parsing follow."""

from __future__ import annotations

import argparse
import json
import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union, get_args, get_origin

from parcade.config import settings
from parcade.config.fitting import AUTO, MAY_BE_AUTO
from parcade.config.fitting import whole_number as whole_number_of
from parcade.config.other_names import our_name
from parcade.config.settings import TrainSettings
from parcade.errors import UserError
from parcade.host.input_file import short

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from parcade.env.spec import Watch

GROUPS = {
    "what": "what to play",
    "observation": "what the policy sees",
    "parallel": "how many games at once",
    "ppo": "how it learns",
    "explore": "where episodes begin, and what is new",
    "coach": "the coach: a language model that revises the guide",
    "run": "what is kept",
}
_EXTRA_NAMES = {"imports": ("--import",), "total_timesteps": ("--timesteps",), "demonstrations": ("--demos",)}
_ABOUT_AUTO = re.compile(r"[,;] auto: as measured by tune")  # in the help of verbs that take numbers only
_ONLY_IN_PYTHON = ("env_factory",)
_FILES = ("guide",)  # whose content is the setting
LARGEST_SPEED = 64
LONGEST_WORDS = 500  # of what argparse says, which repeats what was given
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
        told = message if len(message) <= LONGEST_WORDS else f"{message[:LONGEST_WORDS].rstrip()}…"
        raise UsageError(f"{told}; `{self.prog} --help` lists its flags")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an unknown flag is answered with the nearest one of the verb that was meant."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            verb = getattr(found, "parser", self)
            flag = unknown[0].partition("=")[0][:100]
            raise UsageError(
                f"{verb.prog} does not know {flag}{_hint(flag, verb)}; `{verb.prog} --help` lists its flags"
            )
        return found


def _hint(flag: str, verb: argparse.ArgumentParser) -> str:
    """Return what was meant by a flag that a verb does not know, in brackets; "" where nobody can tell."""
    setting = flag.lstrip("-").replace("-", "_")
    if verb.prog.endswith(" resume") and setting in TrainSettings.model_fields:
        return f" (a run keeps its {setting}; `parcade train --model FILE {flag} …` starts a new run from its weights)"
    return our_name(flag, verb._option_string_actions)


def add_setting_flags(parser: argparse.ArgumentParser, only: set[str] | None = None) -> None:
    """Add a flag for every setting (or only some); flags not given leave no trace in the result."""
    groups, order = {key: parser.add_argument_group(title) for key, title in GROUPS.items()}, list(GROUPS)
    for name, field in sorted(TrainSettings.model_fields.items(), key=lambda one: order.index(_group(one[1]))):
        if name in _ONLY_IN_PYTHON or (only is not None and name not in only):
            continue
        names = [f"--{name.replace('_', '-')}", *_EXTRA_NAMES.get(name, ())]
        options = {"metavar": "FILE"} if name in _FILES else _options(field.annotation)
        text = (field.description or "").replace("%", "%%")
        if name in MAY_BE_AUTO:
            if only is None:
                options = {"type": _whole_or_auto, "metavar": "N|auto"}
            else:
                text = _ABOUT_AUTO.sub("", text)
        if field.default not in (None, (), {}) and "[" not in text:
            text += f" [{_show(field.default)}]"
        group = groups[_group(field)]
        group.add_argument(*names, dest=name, default=argparse.SUPPRESS, help=text, **options)
        for word, meaning in _SHORT_FORMS.get(name, {}).items():
            note = f"short for --{name.replace('_', '-')} {meaning}"
            how: dict[str, Any] = {"action": "store_const", "const": meaning, "default": argparse.SUPPRESS}
            group.add_argument(word, dest=name, help=note, **how)


def _group(field: FieldInfo) -> str:
    assert isinstance(field.json_schema_extra, dict)
    return str(field.json_schema_extra["group"])


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


def add_view_flags(parser: argparse.ArgumentParser) -> None:
    """Add what serves the live page beside a training."""
    group = parser.add_argument_group("the live page")
    group.add_argument("--view", action="store_true", help="serve a page with every game while it trains")
    group.add_argument("--view-host", metavar="ADDRESS", help="address of the page [127.0.0.1: this machine only]")
    group.add_argument("--view-port", type=whole_number, metavar="N", help="its port [the first free one from 8700]")


@contextmanager
def opened_page(arguments: argparse.Namespace, root: str) -> Iterator[None]:
    """Serve the page that was asked for as long as the training lasts; its address is printed."""
    for flag, value in {"--view-host": arguments.view_host, "--view-port": arguments.view_port}.items():
        if value is not None and not arguments.view:
            raise UsageError(f"{flag} says where the page is served; add --view to serve one")
    if not arguments.view:
        yield
        return
    from parcade.view.page.launch import served

    check_port("--view-port", arguments.view_port)
    with served(root, host=arguments.view_host or "127.0.0.1", port=arguments.view_port) as url:
        print(f"watch at {url}", file=sys.stderr, flush=True)
        yield


def check_port(flag: str, port: int | None) -> None:
    """Refuse what is no port."""
    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"{flag} is {port}, wanted 0 to 65535")


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
        raise argparse.ArgumentTypeError(f"{short(text)} is no speed, wanted 0 to {LARGEST_SPEED}")
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
        return {"type": pairs, "metavar": "K=V,…"}
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


def _whole_or_auto(text: str) -> int | str:
    return AUTO if text == AUTO else whole_number(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(whole_number(part) for part in settings.words(text.replace("x", ",")))


def pairs(text: str) -> dict[str, Any]:
    """Read key=value,key=value; values are JSON where they can be."""
    pairs = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{short(part)} is not key=value")
        try:
            pairs[key.strip()] = json.loads(value)
        except ValueError:
            pairs[key.strip()] = value
    return pairs
