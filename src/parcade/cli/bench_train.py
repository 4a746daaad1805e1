"""The flags and the table of `parcade bench train`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table, times
from parcade.cli.flags import whole_number
from parcade.config.settings import words


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--cases", type=words, default=(), metavar="NAME,…", help="nature-cnn, small-cnn, features-mlp [all]"
    )
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each contender [5]")
    parser.add_argument("--overlap", action="store_true", help="run Parcade with --overlap")
    parser.add_argument("--to-success", action="store_true", help="measure the time until Lantern is learned")
    parser.add_argument(
        "--minutes", type=float, default=20.0, metavar="X", help="with --to-success: time limit of each trainer [20]"
    )
    parser.add_argument(
        "--observation",
        choices=["features", "pixels"],
        default="features",
        help="with --to-success: what the policy sees [features]",
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    if arguments.to_success:
        from parcade.bench.train_to_success import bench_to_success

        return bench_to_success(minutes=arguments.minutes, observation=arguments.observation)
    from parcade.bench.train_speed import CASES, bench_train

    return bench_train(arguments.cases or tuple(CASES), rounds=arguments.rounds, overlap=arguments.overlap)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    if "to_success" in result:
        return _show_success(result)
    heads = ("case", "steps/s", "peers", "over the best", "the limit over it", "of the limit", "learning of its limit")
    table = make_table("with learning", *heads)
    for case in result["cases"]:
        peers = "\n".join(f"{peer['name']} {peer['steps_per_s']:,.0f}" for peer in case["peers"])
        ratios = (times(case["over_best_peer"]), times(case["limit_over_best_peer"]))
        parts = (f"{case['of_limit']:.2f}", f"{case['learn_of_limit']:.2f}")
        table.add_row(case["case"], f"{case['steps_per_s']:,.0f}", peers, *ratios, *parts)
    return [table, result["machine"]]


def _show_success(result: dict[str, Any]) -> list[Any]:
    table = make_table(
        f"Lantern until success {result['to_success']:g}", "", "seconds", "env steps", "success", "reached"
    )
    for name in ("ours", "sb3"):
        row = result[name]
        if row is not None:
            success = f"{row['success_rate'] or 0:.2f}"
            cells = (f"{row['seconds']:,.0f}", f"{row['env_steps']:,}", success, "yes" if row["reached"] else "no")
            table.add_row(row.get("name", "parcade train"), *cells)
    bound = "at least " if result["times_shorter_is_lower_bound"] else ""
    return [table, f"{bound}{times(result['times_shorter'])} shorter", result["machine"]]
