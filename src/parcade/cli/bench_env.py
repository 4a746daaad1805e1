"""The flags and the table of `parcade bench env`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from parcade.cli.bench_flags import add_game_flags, counts_from_one
from parcade.cli.bench_table import make_table, times
from parcade.cli.flags import UsageError, whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_game_flags(parser)
    parser.add_argument("--seconds", type=float, default=2.0, metavar="X", help="length of one turn [2]")
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each contender [5]")
    parser.add_argument(
        "--n-envs",
        type=counts_from_one,
        default=(2, 16, 64, 256),
        metavar="N,…",
        help="sizes of the pool [2,16,64,256]",
    )
    parser.add_argument(
        "--n-workers", type=counts_from_one, default=(), metavar="N,…", help="workers [one for each core]"
    )
    parser.add_argument("--peer-envs", type=whole_number, default=16, metavar="N", help="envs of each peer [16]")
    parser.add_argument("--no-peers", action="store_false", dest="peers", help="leave the other libraries out")
    parser.add_argument(
        "--limit-consoles", type=whole_number, default=1, metavar="N", help="consoles of each bare process [1]"
    )
    parser.add_argument("--plot", metavar="FILE", help="also write the bars to a PNG")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.env_speed import bench_env, draw_plot

    if arguments.plot:
        _check_folder(arguments.plot)
    result = bench_env(
        arguments.game,
        observation=arguments.observation,
        seconds=arguments.seconds,
        rounds=arguments.rounds,
        n_envs=arguments.n_envs,
        n_workers=arguments.n_workers,
        peer_envs=arguments.peer_envs,
        peers=arguments.peers,
        limit_consoles=arguments.limit_consoles,
        rom=arguments.rom,
        state=arguments.state,
    )
    if arguments.plot:
        result["plot"] = draw_plot(result, arguments.plot)
    return result


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    title = (
        f"{result['game']}, {result['observation']}: medians of {result['rounds']} rounds of {result['seconds']:g} s"
    )
    against = "undrawn limit" if result["of_limit_is_against"].startswith("limit_undrawn") else "limit"
    table = make_table(title, "", "envs", "workers", "steps/s", f"of the {against}", "MB per further env")
    table.add_row("limit, last frame drawn", "", "", f"{result['limit_steps_per_s']:,.0f}", "", "")
    table.add_row("limit, nothing drawn", "", "", f"{result['limit_undrawn_steps_per_s']:,.0f}", "", "")
    table.add_row("limit, none ahead of the slowest", "", "", f"{result['limit_in_step_steps_per_s']:,.0f}", "", "")
    for row in result["pool"]:
        mb = "" if row["mb_per_env"] is None else f"{row['mb_per_env']:.2f}"
        counts = (str(row["n_envs"]), str(row["n_workers"]))
        table.add_row("parcade pool", *counts, f"{row['steps_per_s']:,.0f}", f"{row['of_limit']:.2f}", mb)
        alone = f"{row['fragment_steps_per_s']:,.0f}", f"{row['fragment_of_limit']:.2f}"
        table.add_row("  in fragments", *counts, *alone, "")
    for row in result["peers"]:
        table.add_row(row["name"], str(row["n_envs"]), "", f"{row['steps_per_s']:,.0f}", "", "")
    lines = [
        f"over the best peer: {times(result['over_best_peer'])}, "
        f"over the best multi-process peer: {times(result['over_best_multiprocess_peer'])}",
        result["machine"],
    ]
    return [table, *lines, *([f"plot: {result['plot']}"] if "plot" in result else [])]


def _check_folder(path: str) -> None:
    if not Path(path).parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist")
