"""The flags and the table of `parcade bench learn`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.flags import whole_number
from parcade.settings import words


def learn_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--tasks", type=words, default=(), metavar="NAME,…", help="some tasks only; see docs/bench.md [all]"
    )
    parser.add_argument("--seeds", type=whole_number, default=3, metavar="N", help="trainings of each side [3]")
    parser.add_argument("--budget", type=float, default=1.0, metavar="X", help="times the usual env steps [1]")
    parser.add_argument("--no-peers", action="store_false", dest="peers", help="leave SB3 out")
    parser.add_argument("--out", metavar="FILE", help="keep results here as they come; what it holds is not run again")


def bench_learn(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.tune.bench_learn import bench_learn as run

    return run(
        arguments.tasks,
        seeds=arguments.seeds,
        budget=arguments.budget,
        peers=arguments.peers,
        out=arguments.out,
    )


def show_learn(result: dict[str, Any]) -> list[Any]:
    """Return the table and the verdict."""
    from rich.table import Table

    title = f"mean ± std over {result['seeds']} seeds of the score on held-out seeds"
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(("task", "env steps", "ours", "SB3", "without", "seconds, ours / SB3", "")):
        table.add_column(column, justify="left" if index == 0 else "right")
    for task in result["tasks"]:
        seconds = [f"{side['seconds']:.0f}" if side else "–" for side in (task["ours"], task["sb3"])]
        sides = [_score(task[side]) for side in ("ours", "sb3", "without")]
        verdict = "passed" if task["passed"] else "FAILED"
        table.add_row(task["task"], f"{task['env_steps']:,}", *sides, " / ".join(seconds), verdict)
    faults = [f"{task['task']}: {fault}" for task in result["tasks"] for fault in task["faults"]]
    verdict = "passed" if result["passed"] else "FAILED"
    return [table, *faults, verdict, f"passed means: {result['rule']}", result["machine"]]


def _score(side: dict[str, Any] | None) -> str:
    return "–" if side is None else f"{side['mean']:.2f} ± {side['std']:.2f}"
