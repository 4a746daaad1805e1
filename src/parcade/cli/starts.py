"""List the starts that a training's archive has found, with pictures, and write one as a save state.

  parcade starts results/lantern/<run> --pictures starts.png
  parcade starts results/lantern/<run> --export 12 cellar.state

A start is a seed and the actions from there on. The number is the order in which the training found it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number

ENV_SETTINGS = {"game", "rom", "state", "log_root"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the listing's flags."""
    parser.add_argument("run_dir", metavar="RUN", nargs="?", help="the run's folder [the newest one]")
    parser.add_argument("--order", choices=("found", "reached", "steps"), default="found", help="sort order [found]")
    parser.add_argument("--most", type=whole_number, default=20, metavar="N", help="number of starts to show [20]")
    parser.add_argument("--pictures", metavar="FILE.png", help="write the pictures of these starts, side by side")
    parser.add_argument("--export", nargs=2, metavar=("N", "FILE"), help="write start N as a save state for --state")
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """List, or export one; the last line is JSON on request."""
    from parcade.cli.run_folder import named_or_newest
    from parcade.train.found_starts import StartsOfRun

    named = given_settings(arguments)
    starts = StartsOfRun(named_or_newest(arguments.run_dir, named.pop("log_root", None)), named)
    if arguments.export:
        number, file = arguments.export
        _write(Path(file), starts.save_state(whole_number(number)))
        print(json.dumps({"start": int(number), "file": file}) if arguments.json else f"start {number} is in {file}")
        return 0
    numbers = starts.ordered(arguments.order, arguments.most)
    found = list(starts.show(numbers))
    if arguments.pictures:
        _write(Path(arguments.pictures), _mosaic(found))
    if arguments.json:
        facts = ("number", "seed", "steps", "reached", "chosen", "milestone", "words")
        rows = [{name: getattr(one, name) for name in facts} for one in found]
        print(json.dumps({"cells": len(starts.entries), "starts": rows}))
    else:
        _print_table(found, len(starts.entries))
    return 0


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _mosaic(found: list[Any]) -> bytes:
    """Return a PNG with five pictures in a row, each with its number."""
    import cv2
    import numpy as np

    pictures = [one.picture for one in found if one.picture is not None]
    if not pictures:
        raise UsageError("there is no picture to write: only games have them, and the archive may be empty")
    scale, columns = 2, min(5, len(pictures))
    height, width = (side * scale for side in pictures[0].shape[:2])
    rows = -(-len(pictures) // columns)
    canvas = np.full((rows * (height + 22), columns * (width + 4), 3), 24, np.uint8)
    for index, (one, picture) in enumerate(zip(found, pictures, strict=False)):
        top, left = index // columns * (height + 22), index % columns * (width + 4)
        enlarged = cv2.resize(picture, (width, height), interpolation=cv2.INTER_NEAREST)
        canvas[top + 22 : top + 22 + height, left : left + width] = enlarged
        text = f"{one.number}: {one.steps} steps, reached {one.reached} x"
        cv2.putText(canvas, text, (left + 2, top + 15), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (230, 230, 230), 1, cv2.LINE_AA)
    return bytes(cv2.imencode(".png", canvas[..., ::-1])[1].tobytes())


def _print_table(found: list[Any], n_cells: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(found)} of {n_cells:,} starts", title_justify="left", expand=True)
    for column in ("start", "steps", "reached", "chosen"):
        table.add_column(column, justify="right")
    has_milestones = any(one.milestone is not None for one in found)
    if has_milestones:
        table.add_column("milestone", no_wrap=True, overflow="ellipsis")
    table.add_column("state", no_wrap=True, overflow="ellipsis", ratio=1)  # it alone gives way in a narrow terminal
    for one in found:
        told = [one.milestone or "–"] if has_milestones else []
        table.add_row(*map(str, (one.number, one.steps, one.reached, one.chosen)), *told, one.words or "–")
    Console().print(table)
