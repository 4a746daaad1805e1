"""The flags and the table of `parcade bench guide`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table, times
from parcade.cli.flags import whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--game", default="lantern", metavar="NAME", help="a built-in title [lantern]")
    parser.add_argument("--guide", metavar="FILE", help="a guide for the title [five milestones of Lantern]")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="X", help="length of one turn [3]")
    parser.add_argument("--rounds", type=whole_number, default=20, metavar="N", help="turns of each [20]")
    parser.add_argument("--coach", action="store_true", help="measure with a coach too: the small model, or --llm")
    parser.add_argument("--llm", metavar="URL", help="server that the coach asks [the small model, on this machine]")
    parser.add_argument("--llm-model", metavar="NAME", help="name of the model on that server")
    parser.add_argument("--n-envs", type=whole_number, default=16, metavar="N", help="games [16]")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.guide_cost import bench_guide

    scale = {"rounds": arguments.rounds, "seconds": arguments.seconds, "n_envs": arguments.n_envs}
    llm = {name: value for name in ("llm", "llm_model") if (value := getattr(arguments, name)) is not None}
    return bench_guide(guide=arguments.guide, game=arguments.game, coach=arguments.coach, **scale, **llm)


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    title = f"a guide of {result['milestones']} milestones in a training of {result['n_envs']} {result['game']} games"
    table = make_table(title, "", "steps/s", "of without")
    ratios = ("", times(result["of_without"]), times(result.get("coached_of_without", 0.0)))
    for (name, rate), ratio in zip(result["steps_per_s"].items(), ratios, strict=False):
        table.add_row(name, f"{rate:,.0f}", ratio)
    asked = f"{result['coach_asks']} answered {result['answers']} questions meanwhile" if "answers" in result else ""
    return [table, *([asked] if asked else []), result["machine"]]
