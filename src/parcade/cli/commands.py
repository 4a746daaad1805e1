"""Every command with its flags, read from the parsers: shell completion and docs/cli.md are made from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

TRUTHS = argparse.BooleanOptionalAction


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a command."""

    names: tuple[str, ...]
    takes: str | None  # the name of its value; None: it takes none
    choices: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A verb, or one of a verb's own verbs such as `bench env`."""

    words: tuple[str, ...]
    text: str
    about: str
    usage: str
    positionals: tuple[tuple[str, str], ...]  # name and meaning
    flags: tuple[Flag, ...]
    verbs: tuple[str, ...]  # its own


def all_commands() -> Iterator[Command]:
    """Yield each verb, and behind it its own verbs."""
    from parcade.cli.main import VERBS, verb_parser

    for verb, text in VERBS.items():
        yield from _commands(verb_parser(verb), (verb,), text)


def _commands(parser: argparse.ArgumentParser, words: tuple[str, ...], text: str) -> Iterator[Command]:
    below: dict[str, tuple[argparse.ArgumentParser, str]] = {}
    flags, positionals = list[Flag](), list[tuple[str, str]]()
    values = _named_values()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            below = {name: (one, texts.get(name, "")) for name, one in action.choices.items()}
        elif action.option_strings:
            flags.append(_flag(action, values))
        else:
            positionals.append((str(action.metavar or action.dest), _plain(action.help)))
    about, usage = parser.description or "", parser.format_usage().removeprefix("usage: ").strip()
    yield Command(words, text, about.strip(), usage, tuple(positionals), tuple(flags), tuple(below))
    for name, (one, meaning) in below.items():
        yield from _commands(one, (*words, name), meaning)


def _flag(action: argparse.Action, values: dict[str, tuple[str, ...]]) -> Flag:
    takes_none = action.nargs == 0 or isinstance(action, TRUTHS)
    choices = tuple(map(str, action.choices or values.get(action.dest, ())))
    takes = None if takes_none else str(action.metavar or ("CHOICE" if action.choices else action.dest.upper()))
    return Flag(tuple(action.option_strings), takes, () if takes_none else choices, _plain(action.help))


def _plain(text: str | None) -> str:
    return (text or "").replace("%%", "%")


def _named_values() -> dict[str, tuple[str, ...]]:
    """Return the words that a shell can offer where the parser takes any text."""
    from parcade.config.track_fields import TRACKER_NAMES
    from parcade.game.titles import title_names

    return {"game": tuple(title_names()), "track": TRACKER_NAMES}
