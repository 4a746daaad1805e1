"""The flags and the table of `parcade bench fuzz`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import UsageError, whole_number

MOST_TOLD = 20  # faults that are printed; --json has all


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--minutes", type=float, default=5.0, metavar="M", help="how long [5]")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="decides every case [0]")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="KIND", help="only this kind of case; may be given again [all]"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of every fault in this folder")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.fuzz.fuzz import bench_fuzz
    from parcade.bench.fuzz.kinds import KINDS

    if not 0 < arguments.minutes < 1e6:
        raise UsageError(f"--minutes is {arguments.minutes:g}, wanted more than 0")
    for kind in arguments.kind:
        if kind not in KINDS:
            raise UsageError(f"--kind is {kind[:100]!r}, wanted one of: {'; '.join(KINDS)}")
    return bench_fuzz(minutes=arguments.minutes, seed=arguments.seed, kinds=arguments.kind, keep=arguments.keep)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    from rich.markup import escape

    table = make_table(f"{result['cases']:,} cases from seed {result['seed']}", "", "cases", "refused", "faults")
    for kind, count in result["kinds"].items():
        table.add_row(kind, *(f"{count[name]:,}" for name in ("cases", "refused", "faults")))
    faults = [f"{fault['kind']} {fault['number']}: {fault['fault']}: {fault['what']}" for fault in result["faults"]]
    more = [f"{len(faults) - MOST_TOLD:,} more"] if len(faults) > MOST_TOLD else []
    return [table, *map(escape, faults[:MOST_TOLD]), *more, result["machine"]]
