"""The flags and the table of `parcade bench view`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import whole_number
from parcade.errors import SettingsError


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--seconds", type=float, default=3.0, metavar="X", help="length of one turn [3]")
    parser.add_argument("--rounds", type=whole_number, default=20, metavar="N", help="turns of each [20]")
    parser.add_argument("--n-envs", type=whole_number, default=64, metavar="N", help="games [64]")
    parser.add_argument(
        "--soak-minutes", type=float, default=0.0, metavar="M", help="then watch the server for M minutes [0: do not]"
    )
    parser.add_argument("--soak-envs", type=whole_number, default=256, metavar="N", help="games meanwhile [256]")
    parser.add_argument("--only-soak", action="store_true", help="watch the server, do not measure the training")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.view_cost import bench_view
    from parcade.bench.view_soak import soak_view

    minutes = arguments.soak_minutes
    if arguments.only_soak and minutes <= 0:
        raise SettingsError("--only-soak needs --soak-minutes, such as 10")
    result: dict[str, Any] = {"bench": "view"}
    if not arguments.only_soak:
        result = bench_view(seconds=arguments.seconds, rounds=arguments.rounds, n_envs=arguments.n_envs)
    return result | (soak_view(minutes=minutes, n_envs=arguments.soak_envs) if minutes > 0 else {})


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    return [
        *(_cost(result) if "no_client_loss" in result else []),
        *(_soak(result) if "server_cores" in result else []),
    ]


def _soak(result: dict[str, Any]) -> list[Any]:
    grown = result["server_mb_end"] - result["server_mb_start"]
    return [
        f"{result['soak_n_envs']} games in view for {result['soak_minutes']:g} minutes: the server took "
        f"{result['server_cores']:.2f} of a core at {result['server_mb_end']:.0f} MB "
        f"({grown:+.0f} MB since {result['server_mb_start']:.0f}), {result['soak_visits']} visits"
    ]


def _cost(result: dict[str, Any]) -> list[Any]:
    table = make_table(f"the live page beside a training of {result['n_envs']} Lantern games", "", "steps/s", "loss")
    losses = {"no page": None, "no client": result["no_client_loss"], "one client": result["one_client_loss"]}
    for name, loss in losses.items():
        table.add_row(name, f"{result['steps_per_s'][name]:,.0f}", "" if loss is None else f"{loss:.1%}")
    rate, size = result["client_messages_per_s"], result["client_bytes_per_s"] / 1000
    return [table, f"the client got {rate:.1f} pictures of the whole a second, {size:,.0f} kB/s", result["machine"]]
