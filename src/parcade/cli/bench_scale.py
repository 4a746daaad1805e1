"""The flags and the table of `parcade bench scale`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table, times
from parcade.cli.flags import whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--seconds", type=float, default=60.0, metavar="X", help="length of each part of a turn [60]")
    parser.add_argument("--rounds", type=whole_number, default=3, metavar="N", help="turns of each training [3]")
    parser.add_argument("--n-envs", type=whole_number, default=32, metavar="N", help="games [32]")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.scale_follow import bench_scale

    return bench_scale(seconds=arguments.seconds, rounds=arguments.rounds, n_envs=arguments.n_envs)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    table = make_table("the last core", "", "stays, steps/s", "follows, steps/s", "gain")
    rates = result["steps_per_s"]
    gains = {"free": "gain_free", "taken": "gain_taken", "given back": "gain_given_back"}
    for part, gain in gains.items():
        table.add_row(part, f"{rates['stays'][part]:,.0f}", f"{rates['follows'][part]:,.0f}", times(result[gain]))
    return [table, result["machine"]]
