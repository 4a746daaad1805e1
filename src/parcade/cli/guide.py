"""Check or write a guide: milestones of your own that pay, and that the policy sees (docs/guide.md).

parcade guide fields --game meadow             the fields that conditions can name, with their meanings
parcade guide check mine.yaml --game meadow    list all faults, or the milestones
parcade guide test mine.yaml --episodes RUN    list where its milestones fire in recorded episodes
parcade guide write --game meadow              have a language model write one
parcade train --game meadow --guide mine.yaml  train with it
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from parcade.cli import guide_write
from parcade.cli.flags import UsageError, add_setting_flags, given_settings
from parcade.cli.recorded import NAMED
from parcade.host.wording import counted

if TYPE_CHECKING:
    from parcade.game.base import Game
    from parcade.train.guide_test import MilestoneFirings

_USAGE = {
    "fields": "--game NAME",
    "check": "FILE --game NAME",
    "test": "FILE --episodes RUN_OR_FILE",
    "write": "--game NAME",
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a sub-verb for everything that can be done with a guide."""
    what = parser.add_subparsers(metavar="WHAT", title="what to do")
    fields = _add(what, "fields", "list the fields that conditions can name, with meanings and ranges", _fields)
    check = _add(what, "check", "list the faults of a guide file", _check)
    check.add_argument("file", metavar="FILE", help="guide file (YAML or JSON)")
    for verb in (fields, check):
        add_setting_flags(verb, {"game", "game_options"})
    test = _add(
        what, "test", "replay recorded episodes and list the steps at which each milestone of a guide fires", _test
    )
    test.add_argument("file", metavar="FILE", help="guide file (YAML or JSON)")
    test.add_argument(
        "--episodes",
        required=True,
        metavar="RUN_OR_FILE",
        help="a run's folder, for its kept episodes, or a file of recorded episodes",
    )
    add_setting_flags(test, NAMED)
    guide_write.add_flags(_add(what, "write", "have a language model write a guide", guide_write.run))


def _add(what: Any, name: str, text: str, do: Any) -> argparse.ArgumentParser:
    prog, usage = f"parcade guide {name}", _USAGE[name]
    described = f"{text[0].upper()}{text[1:]}."
    verb: argparse.ArgumentParser = what.add_parser(
        name, help=text, description=described, prog=prog, usage=f"{prog} {usage} [flags]"
    )
    verb.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one line of JSON at the end"
    )
    verb.set_defaults(do=do, parser=verb)
    return verb


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    if not hasattr(arguments, "do"):
        arguments.parser.print_help()
        return 0
    code: int = arguments.do(arguments)
    return code


def _game(arguments: argparse.Namespace, named: Any = None) -> Game[Any, Any]:
    from parcade.game.titles import find_title

    given = given_settings(arguments)
    name = given.get("game", named)
    if not isinstance(name, str):
        raise UsageError("name the game of the guide with --game NAME")
    return find_title(name, given.get("game_options"))


def _fields(arguments: argparse.Namespace) -> int:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    game = _game(arguments)
    if arguments.json:
        print(json.dumps({"game": game.name, "fields": {name: f.to_dict() for name, f in game.fields.items()}}))
        return 0
    table = Table("field", "values", "meaning", box=box.SIMPLE, padding=(0, 1))
    for name, field in game.fields.items():
        values = ", ".join(list(field.values)[:12]) + (" …" if len(field.values) > 12 else "")
        counts = " (over the episode)" if field.count is not None else ""
        table.add_row(name, escape(values or field.range), escape(field.words + counts))
    Console(highlight=False).print(table)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from parcade.config.file import read_guide
    from parcade.game.guide import guide_faults, guide_milestones

    data = read_guide(arguments.file)
    game = _game(arguments, data.get("game"))
    faults = guide_faults(data, game)
    milestones = () if faults else guide_milestones(data, game)
    if arguments.json:
        print(json.dumps({"file": arguments.file, "game": game.name, "faults": faults, "milestones": len(milestones)}))
        return 2 if faults else 0
    for fault in faults:
        print(f"{arguments.file}: {fault}")
    for milestone in milestones:
        after = f"after {', '.join(milestone.after)}" if milestone.after else "from the start"
        print(f"{milestone.name}: {milestone.when}  (pays {milestone.reward:g}, {after})")
    return 2 if faults else 0


def _test(arguments: argparse.Namespace) -> int:
    from parcade.config.file import read_guide
    from parcade.train.guide_test import by_milestone, fire, recorded_episodes

    data, where = read_guide(arguments.file), arguments.episodes
    records = recorded_episodes(where)
    if not records:
        raise UsageError(f"{where} holds no episodes")
    firings = []
    for index, fired in enumerate(fire(data, records, where, given_settings(arguments))):
        firings += fired
        if sys.stderr.isatty():
            end = "\n" if index + 1 == len(records) else ""
            print(f"\repisode {index + 1} of {len(records)}", end=end, file=sys.stderr, flush=True)
    told = by_milestone([one["name"] for one in data["milestones"]], firings)
    if arguments.json:
        print(json.dumps({"file": arguments.file, "episodes": len(records), "milestones": [m.to_dict() for m in told]}))
        return 0
    print(f"{arguments.file} in {counted(len(records), 'episode')} of {where}:")
    for milestone in told:
        print(f"  {milestone.name:<20} {_fired(milestone, len(records))}")
    return 0


def _fired(milestone: MilestoneFirings, episodes: int) -> str:
    """Return in how many episodes a milestone fired, when, and the first of these moments in words."""
    if not milestone.firings:
        return "never"
    first = milestone.firings[0]
    moment = f"episode {first.episode}, step {first.step}" + (f": {first.words}" if first.words else "")
    return f"{len(milestone.firings)} of {episodes}, after {milestone.median_step:g} steps (median); {moment}"
