"""The flags and the table of `parcade bench cluster`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import whole_number
from parcade.config.settings import words


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--case", type=words, metavar="NAME,…", help="cases [features-mlp,small-cnn]")
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each contender [5]")
    parser.add_argument("--seconds", type=float, default=8.0, metavar="X", help="length of a turn [8]")
    parser.add_argument("--no-rllib", action="store_true", help="leave out RLlib's PPO on the same cores")
    text = "kill this many nodes at random during one more training [20 if no number follows; else none]"
    parser.add_argument("--kills", type=whole_number, nargs="?", const=20, default=0, metavar="N", help=text)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.cluster_cost import CASES, bench_cluster
    from parcade.errors import SettingsError

    cases = arguments.case or tuple(CASES)
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise SettingsError(f"bench cluster has no case {unknown[0]!r}; its cases are {', '.join(CASES)}")
    turns = {"rounds": arguments.rounds, "seconds": arguments.seconds}
    return bench_cluster(cases, **turns, kills=arguments.kills, with_rllib=not arguments.no_rllib)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    table = make_table(
        *("a node for each core", "case", "two nodes, efficiency", "two apart, efficiency"),
        *("Ray's overhead", "kB per update", "times RLlib"),
    )
    for case in result["cases"]:
        sent = case["bytes_per_update"]["measured"] / 1e3
        ratio = case["rllib"]["ratio"]
        beside = f"{ratio:.1f}" if ratio is not None else f"– ({case['rllib']['reason']})"
        shares = (f"{case['efficiency']:.2f}", f"{case['efficiency_apart']:.2f}", f"{case['overhead']:.1%}")
        table.add_row(case["case"], *shares, f"{sent:,.0f}", beside)
    same = ", ".join(
        f"{name}: {'same bits' if is_same else 'OTHER BITS'}" for name, is_same in result["same_bits"].items()
    )
    killed = result["kills"]
    lines = (
        [] if killed is None else [f"{killed['kills']} nodes killed: {'same bits' if killed['same'] else 'OTHER BITS'}"]
    )
    return [table, same, *lines, result["machine"]]
