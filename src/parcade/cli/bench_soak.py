"""The flags and the table of `parcade bench soak`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_flags import add_game_flags, counts_from_zero
from parcade.cli.bench_table import make_table
from parcade.cli.flags import UsageError, whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_game_flags(parser)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="X", help="minutes to run [10]")
    parser.add_argument("--n-envs", type=whole_number, default=64, metavar="N", help="envs of each pool [64]")
    parser.add_argument(
        "--n-workers",
        type=counts_from_zero,
        default=(),
        metavar="N,…",
        help="workers [one for each core]; with --no-kills a list, run one after the other; 0: no worker processes",
    )
    parser.add_argument("--no-kills", action="store_false", dest="kills", help="kill nothing; no worker may die")
    parser.add_argument(
        "--steps", type=whole_number, metavar="N", help="stop after this many env steps, if they come first"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="seed of actions, episodes and kills [0]"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.endurance import endure
    from parcade.bench.soak import soak

    options = {
        "minutes": arguments.minutes,
        "n_envs": arguments.n_envs,
        "observation": arguments.observation,
        "max_env_steps": arguments.steps,
        "seed": arguments.seed,
        "rom": arguments.rom,
        "state": arguments.state,
    }
    counts = arguments.n_workers
    if not arguments.kills:
        return endure(arguments.game, n_workers=counts, **options)
    if counts and (len(counts) > 1 or counts[0] < 1):
        raise UsageError("with kills --n-workers takes one number above 0; --no-kills compares several")
    return soak(arguments.game, n_workers=counts[0] if counts else None, **options)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    if not result["kills"]:
        return _show_endurance(result)
    table = make_table(f"{result['game']}: {result['n_envs']} envs for {result['seconds']:.0f} s", "", "", "")
    kinds = ", ".join(f"{count} {kind}" for kind, count in result["deaths_by_kind"].items())
    steps = f"{result['env_steps']:,}"
    rows = [
        ("env steps in each pool", steps, ""),
        ("saved inside the game", "–" if result["saves"] is None else f"{result['saves']:,}", ""),
        ("deaths survived", f"{result['deaths']}", kinds),
        ("checksum", result["checksum"], "equal" if result["checksums_equal"] else "NOT EQUAL"),
        ("undisturbed", result["checksum_undisturbed"], f"{result['deaths_undisturbed_pool']} deaths"),
        ("RSS of this process", f"{result['rss_start_mb']:.0f} -> {result['rss_end_mb']:.0f} MB", ""),
        ("RSS of living workers", f"{result['workers_start_mb']:.0f} -> {result['workers_end_mb']:.0f} MB", ""),
        ("file descriptors", f"{result['fds_start']} -> {result['fds_end']}", ""),
        ("left behind", f"{result['orphans']} processes", f"{result['files_left']} shared files"),
    ]
    for row in rows:
        table.add_row(*row)
    return [table, "passed" if result["passed"] else "FAILED", result["machine"]]


def _show_endurance(result: dict[str, Any]) -> list[Any]:
    title = f"{result['game']}, {result['observation']}: {result['n_envs']} envs"
    columns = ("workers", "env steps", "episodes", "saves", "deaths", "checksum", "steps/s", "RSS of all")
    table = make_table(title, *columns)
    for run in result["runs"]:
        saves = "–" if run["saves"] is None else f"{run['saves']:,}"
        counts = (str(run["n_workers"]), f"{run['env_steps']:,}", f"{run['episodes']:,}", saves, str(run["deaths"]))
        memory = f"{run['start_mb']:.0f} -> {run['end_mb']:.0f} MB"
        table.add_row(*counts, run["checksum"], f"{run['steps_per_s']:,.0f}", memory)
    compared = ["checksums equal" if result["checksums_equal"] else "checksums NOT EQUAL"]
    verdict = "passed" if result["passed"] else "FAILED"
    return [table, *(compared if len(result["runs"]) > 1 else []), verdict, result["machine"]]
