"""The flags and the table of `parcade bench learn`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table
from parcade.cli.flags import whole_number
from parcade.config.settings import words


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--tasks", type=words, default=(), metavar="NAME,…", help="only these tasks; see docs/bench.md [all]"
    )
    parser.add_argument("--seeds", type=whole_number, default=3, metavar="N", help="trainings of each trainer [3]")
    parser.add_argument(
        "--budget", type=float, default=1.0, metavar="X", help="multiply the env steps of each task by this [1]"
    )
    parser.add_argument("--no-peers", action="store_false", dest="peers", help="leave SB3 out")
    parser.add_argument("--overlap", action="store_true", help="also train Parcade with --overlap")
    parser.add_argument("--out", metavar="FILE", help="write each result here; results in the file are not run again")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.learn_scores import bench_learn

    return bench_learn(
        arguments.tasks,
        seeds=arguments.seeds,
        budget=arguments.budget,
        peers=arguments.peers,
        overlap=arguments.overlap,
        out=arguments.out,
    )


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and the verdict."""
    title = f"mean ± std over {result['seeds']} seeds of the score on held-out seeds"
    table = make_table(title, "task", "env steps", "ours", "SB3", "overlap", "without", "seconds, ours / SB3", "")
    for task in result["tasks"]:
        seconds = [f"{scores['seconds']:.0f}" if scores else "–" for scores in (task["ours"], task["sb3"])]
        cells = [_score(task[trainer]) for trainer in ("ours", "sb3", "overlap", "without")]
        verdict = "passed" if task["passed"] else "FAILED"
        table.add_row(task["task"], f"{task['env_steps']:,}", *cells, " / ".join(seconds), verdict)
    faults = [f"{task['task']}: {fault}" for task in result["tasks"] for fault in task["faults"]]
    verdict = "passed" if result["passed"] else "FAILED"
    return [table, *faults, verdict, f"passed means: {result['rule']}", result["machine"]]


def _score(scores: dict[str, Any] | None) -> str:
    return "–" if scores is None else f"{scores['mean']:.2f} ± {scores['std']:.2f}"
