"""List, filter and delete runs.

  parcade runs                                     every run in results/
  parcade runs --filter game=lantern --sort return
  parcade runs --filter 'steps<20000' --filter state=stopped
  parcade runs --filter name=test --delete         asks first; a run that is being trained is never deleted

A filter is a setting or a column with =, <, >, <= or >= and a value, or a part of the path. Columns: name, state,
started, env, seed, steps, return, success, seconds, disk.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parcade.cli.flags import UsageError, whole_number
from parcade.config.settings import TrainSettings
from parcade.errors import ParcadeError, did_you_mean
from parcade.host.wording import counted

COLUMNS = ("name", "started", "state", "env", "seed", "steps", "return", "success", "seconds", "disk")
WIDTH = 400  # a narrow terminal breaks lines itself; nothing is cut off
_DESCENDING = ("started", "steps", "return", "success", "seconds", "disk")
_FILTER = re.compile(r"([\w.]+)(<=|>=|=|<|>)(.*)")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the list's flags."""
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="folders to look in, or runs [results]")
    parser.add_argument(
        "--filter", metavar="TEXT", action="append", default=[], help="show only these; may be repeated"
    )
    parser.add_argument("--sort", choices=COLUMNS, default="started", help="column to sort by [started]")
    parser.add_argument("--limit", type=whole_number, metavar="N", help="show only the first N")
    parser.add_argument("--delete", action="store_true", help="delete the runs that are shown; asks first")
    parser.add_argument("--yes", action="store_true", help="with --delete: do not ask")


def run(arguments: argparse.Namespace) -> int:
    """List, and delete on request."""
    if arguments.yes and not arguments.delete:
        raise UsageError("--yes answers the question of --delete; add it to delete the runs")
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit is {arguments.limit}, wanted 1 or more")
    wanted = [_filter(text) for text in arguments.filter]
    runs = [run for run in _read(arguments.folders) if all(fits(run) for fits in wanted)]
    runs.sort(key=lambda run: _order(run.field(arguments.sort)), reverse=arguments.sort in _DESCENDING)
    runs = runs[: arguments.limit]
    deleted = _delete(runs, arguments) if arguments.delete else []
    if arguments.json:
        told = {"runs": [run.to_dict() for run in runs], "bytes": sum(run.n_bytes for run in runs)}
        print(json.dumps({**told, "deleted": deleted} if arguments.delete else told))
    elif not arguments.delete:
        _print(runs)
    return 0


def _read(folders: list[str]) -> list[Any]:
    from parcade.run.listing import find_runs, read_run

    for folder in folders:
        if not Path(folder).is_dir():
            raise UsageError(f"there is no folder {folder}")
    root = TrainSettings.model_fields["log_root"].default
    found = dict.fromkeys(path for folder in folders or [root] for path in find_runs(Path(folder)))
    return [read_run(path) for path in found]


def _filter(text: str) -> Callable[[Any], bool]:
    """Return what decides whether a run is shown."""
    found = _FILTER.fullmatch(text)
    if found is None:
        return lambda run: text in str(run.path)
    name, sign, value = found.groups()
    known = [*COLUMNS, "path", *TrainSettings.model_fields]
    if name.partition(".")[0] not in known:
        raise UsageError(
            f"--filter knows no {name!r}{did_you_mean(name, known)}; it takes settings and {', '.join(COLUMNS)}"
        )
    return lambda run: _holds(run.field(name), sign, value)


def _holds(own: Any, sign: str, value: str) -> bool:
    if sign == "=":
        return str(own).lower() == value.lower() or (_number(own) is not None and _number(own) == _number(value))
    ours, theirs = _number(own), _number(value)
    if ours is None or theirs is None:
        return False
    return {"<": ours < theirs, ">": ours > theirs, "<=": ours <= theirs, ">=": ours >= theirs}[sign]


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(str(value).replace("_", ""))
    except ValueError:
        return None


def _order(value: Any) -> tuple[bool, float, str]:
    """Sort numbers by size and words by letters; what is missing is least."""
    number = _number(value)
    return (value is not None, number if number is not None else 0.0, "" if number is not None else str(value))


def _delete(runs: list[Any], arguments: argparse.Namespace) -> list[str]:
    """Delete the runs that nobody trains, after a question; return what is gone."""
    from parcade.run.listing import delete_run

    idle = [run for run in runs if run.state != "running"]
    for run in runs:
        if run.state == "running":
            print(f"{run.path} is being trained and stays", file=sys.stderr)
    if not idle:
        print("there is nothing to delete", file=sys.stderr)
        return []
    if not arguments.yes and not _agreed(idle):
        print("nothing was deleted", file=sys.stderr)
        return []
    gone = []
    for run in idle:
        try:
            delete_run(run.path)
        except ParcadeError as error:
            print(f"parcade: {error}", file=sys.stderr)
        else:
            gone.append(str(run.path))
    print(f"deleted {counted(len(gone), 'run')}", file=sys.stderr)
    return gone


def _agreed(runs: list[Any]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"--delete would delete {counted(len(runs), 'run')}, but stdin is not a terminal; add --yes")
    _print(runs)
    size = _bytes(sum(run.n_bytes for run in runs))
    print(f"\nDelete {counted(len(runs), 'run')} ({size}) for good? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print(runs: list[Any]) -> None:
    if not runs:
        print("no runs found")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("state", "env", "seed", "steps", "return", "success", "time", "disk", "run"):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("run", "state", "env") else "right")
    for run in runs:
        table.add_row(
            run.state,
            escape(run.env),
            str(run.settings.get("seed", "–")),
            f"{run.env_steps:,}",
            "–" if run.score is None else f"{run.score:.4g}",
            "–" if run.success_rate is None else f"{run.success_rate:.2f}",
            _duration(run.seconds),
            _bytes(run.n_bytes),
            escape(str(run.path)),
        )
    Console(highlight=False, width=WIDTH).print(table)
    print(f"\n{counted(len(runs), 'run')}, {_bytes(sum(run.n_bytes for run in runs))} on the disk")


def _duration(seconds: float) -> str:
    from parcade.run.curves import duration

    return duration(seconds)


def _bytes(number: float) -> str:
    """Return a size as people read it.

    >>> _bytes(3_400_000), _bytes(12)
    ('3.4 MB', '12 B')
    """
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
