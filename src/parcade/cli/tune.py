"""Measure how many games, workers and threads suit this machine, for a game and its settings.

  parcade tune                                   Lantern, in about two minutes
  parcade tune --observation pixels --cnn nature what a large network changes
  parcade tune --env-id CartPole-v1 --write best.yaml
  parcade tune --n-envs 64                       workers and threads only
  parcade train --n-envs auto --n-workers auto --num-threads auto   use what was measured

It takes the flags of `parcade train`; numbers that you give are not changed. Rollouts and updates are measured
together, candidates and the default in turns. It chooses the default unless a candidate beats the default by more
than the noise. docs/tune.md explains the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import add_setting_flags, given_settings

if TYPE_CHECKING:
    from parcade.tune.search import Found, Tell


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the settings' flags and where results go."""
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file with settings; flags override it")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="about how long to measure [120]")
    parser.add_argument("--write", metavar="FILE", help="write a config file with the choice (.yaml or .json)")
    parser.add_argument("--plot", metavar="FILE", help="write the measured candidates as a picture (.svg)")
    parser.add_argument("--no-cache", action="store_true", help="do not keep the choice for auto")
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, say what was found, keep it."""
    from parcade.train.given import settings_for
    from parcade.tune.plot import check_plot, write_plot
    from parcade.tune.report import as_data, check_config, keep_choice, write_config
    from parcade.tune.search import search

    given = _given(arguments)
    settings = settings_for({name: value for name, value in given.items() if value != "auto"})
    if arguments.write is not None:
        check_config(arguments.write)
    if arguments.plot is not None:
        check_plot(arguments.plot)
    with _bar() as tell:
        found = search(given, seconds=arguments.seconds, tell=tell)
    _show(found, arguments.json)
    kept = None if arguments.no_cache else keep_choice(given, settings.name, found)
    if kept is not None:
        print(f"kept in {kept}: `parcade train --n-envs auto --n-workers auto --num-threads auto`", file=sys.stderr)
    if arguments.plot is not None:
        write_plot(arguments.plot, found)
    if arguments.write is not None:
        write_config(arguments.write, given, found)
    if arguments.json:
        print(json.dumps(as_data(found)))
    return 0


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the user gave, in a file and as flags; modules that a file names are checked as in a training."""
    flags = given_settings(arguments)
    if arguments.config is None:
        return flags
    from parcade.config.file import read_config
    from parcade.train.given import settings_of_file

    settings_of_file(arguments.config, {**flags, **_without_auto(flags)})
    return {**read_config(arguments.config), **flags}


def _without_auto(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: None for name, value in flags.items() if value == "auto"}


def _show(found: Found, to_stderr: bool) -> None:
    """Print the table, the bars and the answers."""
    from rich.console import Console

    from parcade.tune.plot import bars, label
    from parcade.tune.words import how_many, learning, passed_over, speed_up, why

    columns = "steps/s", "over\ndefault", "once\nmore", "play\nus", "learn\nus", "MB"
    table = make_table("games x workers x threads", "", *columns)
    for row in found.rows:
        again = "" if row.once_more is None else f"{row.once_more:.2f} x"
        cells = f"{row.steps_per_s:,.0f}", f"{row.over_default:.2f} x", again, f"{row.play_us:,.0f}"
        table.add_row(label(row, found), *cells, f"{row.learn_us:,.0f}", f"{row.total_mb:,.0f}")
    console = Console(stderr=to_stderr, highlight=False)
    console.print(table)
    for line in bars(found):
        console.print(line, markup=False, no_wrap=True)
    reason = why(found)
    answers = how_many(found), *passed_over(found), f"{reason[0].upper()}{reason[1:]}.", *speed_up(found)
    for text in ("", *answers, learning(found)):
        console.print(text, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _bar() -> Iterator[Tell]:
    """Show a bar with the time left and what is measured, on standard error; plain lines where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _say_lines()
        return
    columns = TextColumn("measuring"), BarColumn(), TextColumn("{task.fields[left]:>4.0f} s left  {task.fields[what]}")
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=1.0, left=0.0, what="")

        def tell(share: float, left_s: float, what: str) -> None:
            progress.update(task, completed=share, left=left_s, what=what)

        yield tell


def _say_lines() -> Tell:
    told: list[str] = []

    def tell(share: float, left_s: float, what: str) -> None:
        if what not in told:
            told.append(what)
            print(f"{share:>4.0%}  {left_s:>4.0f} s left  measuring {what}", file=sys.stderr, flush=True)

    return tell
