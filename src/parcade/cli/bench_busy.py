"""The flags and the table of `parcade bench busy`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--seconds", type=float, default=3.0, metavar="X", help="length of one turn [3]")
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each [5]")
    parser.add_argument("--n-envs", type=whole_number, default=16, metavar="N", help="games of the pool [16]")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.busy_speed import bench_busy

    return bench_busy(seconds=arguments.seconds, rounds=arguments.rounds, n_envs=arguments.n_envs)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    low, high = result["users_steps_per_s"]
    title = f"a Game Boy Advance that never halts, {result['frame_skip']} frames a step, the last one drawn"
    table = make_table(title, "", "steps/s", "per core", f"over {low:g}–{high:g}")
    cores = result["n_cores"]
    rows = [
        ("one console on one core", result["one_console_steps_per_s"], 1),
        (f"{result['n_envs']} consoles on {cores} cores", result["all_cores_steps_per_s"], cores),
        (f"pool of {result['n_envs']} games, {cores} workers", result["pool_steps_per_s"], cores),
    ]
    for name, rate, used in rows:
        table.add_row(name, f"{rate:,.0f}", f"{rate / used:,.0f}", f"{rate / high:.1f}–{rate / low:.1f} ×")
    return [table, result["machine"]]
