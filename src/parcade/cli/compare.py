"""Compare runs: final scores over seeds, curves, and the settings that differ.

  parcade compare results/lantern                       every run of a folder
  parcade compare RUN RUN RUN --html compare.html       a page with curves, in one file
  parcade compare results --metric eval/success_rate    any name of docs/metrics.md

Runs whose settings differ only in the seed form a group. A group's score is the interquartile mean of its runs' last
values, with a 95 % bootstrap interval over the seeds; docs/compare.md explains both.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parcade.cli.flags import UsageError
from parcade.host.wording import counted

WIDTH = 400  # a narrow terminal breaks lines itself; nothing is cut off


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the comparison's flags."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folder of a run, or a folder that holds runs")
    parser.add_argument(
        "--metric", metavar="NAME", help="what to compare [eval/mean_reward if all have it, else rollout/ep_rew_mean]"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with curves to this file")


def run(arguments: argparse.Namespace) -> int:
    """Compare; print tables, or JSON on request."""
    from parcade.run.compare_page import write_page
    from parcade.run.comparison import compare

    if arguments.html and not Path(arguments.html).parent.is_dir():
        raise UsageError(f"the folder of {arguments.html} does not exist")
    found = compare(_folders(arguments.runs), arguments.metric)
    if arguments.html:
        try:
            write_page(Path(arguments.html), found)
        except OSError as error:
            raise UsageError(f"{arguments.html} cannot be written: {error.strerror}") from None
    if arguments.json:
        print(json.dumps({**found.to_dict(), "html": arguments.html}))
    else:
        _print(found)
        if arguments.html:
            print(f"\nThe page is {arguments.html}")
    return 0


def _folders(named: list[str]) -> list[Path]:
    from parcade.run.listing import find_runs

    folders = []
    for name in named:
        if not Path(name).is_dir():
            raise UsageError(f"there is no folder {name}; give the folders of runs, such as results/lantern")
        runs = list(find_runs(Path(name)))
        if not runs:
            raise UsageError(f"there is no run in {name} (no folder with config.json and manifest.json)")
        folders += runs
    return folders


def _print(found: Any) -> None:
    console = Console(highlight=False, width=WIDTH)
    scores = _table("group", "seeds", found.metric, "95 % interval", "env steps", "beats the first")
    wins = [None, *found.improvements]
    for group, won in zip(found.groups, wins, strict=True):
        alone = len(group.runs) == 1
        scores.add_row(
            escape(group.label),
            str(len(group.runs)),
            f"{group.score.value:.4g}",
            "–" if alone else f"{group.score.low:.4g} to {group.score.high:.4g}",
            f"{group.env_steps:,}",
            "" if won is None else f"{won.value:.0%} ({won.low:.0%} to {won.high:.0%})",
        )
    console.print(scores)
    if found.differences:
        labels = [group.label for group in found.groups]
        differing = _table("setting", *labels)
        for name, values in found.differences.items():
            differing.add_row(name, *("–" if value is None else escape(str(value)) for value in values))
        console.print()
        console.print(differing)
    if found.left_out:
        told = f"{counted(len(found.left_out), 'run')} without {found.metric}"
        print(f"\nLeft out: {told}, such as {found.left_out[0]}")
    if any(len(group.runs) == 1 for group in found.groups):
        print(f"\nA group of {counted(1, 'seed')} has no interval: train it with more --seed numbers to know.")


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(escape(heading), no_wrap=True)
    return table
