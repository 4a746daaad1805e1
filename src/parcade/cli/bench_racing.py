"""The flags and the table of `parcade bench racing`."""

from __future__ import annotations

import argparse
from typing import Any

from parcade.cli.bench_table import make_table, times
from parcade.cli.flags import whole_number


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--seconds", type=float, default=30.0, metavar="X", help="seconds of the speed measurement [30]"
    )
    parser.add_argument("--fidelity", action="store_true", help="also compare pictures, rewards and car states")
    parser.add_argument("--out", metavar="FOLDER", help="with --fidelity: folder for a PNG of the least similar frames")
    parser.add_argument(
        "--resets",
        type=whole_number,
        default=0,
        metavar="N",
        help="also measure the memory that N resets keep, such as 2000",
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the bench."""
    from parcade.bench.machine import machine
    from parcade.bench.progress import tell_stderr
    from parcade.errors import MissingExtraError

    try:
        import Box2D  # noqa: F401
        import pygame  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"bench racing needs {error.name}, which is not installed; pip install 'parcade[racing]' brings it"
        ) from None
    from parcade.bench.racing import bench_racing

    tell_stderr(f"measuring for about {arguments.seconds:g} s{', then comparing' if arguments.fidelity else ''}")
    result = bench_racing(arguments.seconds, arguments.fidelity, arguments.out, arguments.resets)
    return {"bench": "racing", **result, "machine": machine()}


def show(result: dict[str, Any]) -> list[Any]:
    """Return the table and what goes below it."""
    table = make_table(f"CarRacing, one thread, {result['frame_skip']} steps per decision", "", "steps/s", "ours is")
    table.add_row("ours", f"{result['fast_steps_per_s']:,.0f}", "")
    table.add_row("Gymnasium", f"{result['official_steps_per_s']:,.0f}", times(result["over_official"]))
    if result["envpool_steps_per_s"]:
        table.add_row("EnvPool", f"{result['envpool_steps_per_s']:,.0f}", times(result["over_envpool"]))
    lines = [result["machine"]]
    if "mean_abs_pixel_difference" in result:
        same = "identical" if result["rewards_identical"] and result["state_identical"] else "NOT identical"
        mean, frames = result["mean_abs_pixel_difference"], result["n_frames_compared"]
        lines.insert(
            0, f"mean pixel difference {mean:.2f} of 255 over {frames:,} frames; rewards and car states {same}"
        )
    if "resets" in result:
        ours, theirs = (
            f"{result[f'{env}_mb_before_resets']:.1f} to {result[f'{env}_mb_after_resets']:.1f} MB"
            for env in ("fast", "official")
        )
        lines.insert(0, f"memory over {result['resets']:,} resets: ours {ours}, Gymnasium's {theirs}")
    return [table, *lines]
