"""List the titles Parcade knows and what each needs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """No flags of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Print a table, or JSON on request."""
    from parcade.game.titles import find_title, title_names

    titles = [find_title(name) for name in title_names()]
    if arguments.json:
        rows = [
            {
                "name": title.name,
                "title": title.title,
                "system": title.system,
                "built_in": title.builtin_rom is not None,
                "rom_sha1": dict(title.known_sha1),
                "actions": [action.name for action in title.actions],
                "reward_parts": dict(title.reward_weights),
                "metrics": list(title.metric_names),
                "fields": {name: field.to_dict() for name, field in title.fields.items()},
                "milestones": [
                    {**asdict(milestone), "metric": title.milestone_metrics[milestone.name]}
                    for milestone in title.milestones
                ],
                "success_milestone": title.success_milestone,
            }
            for title in titles
        ]
        print(json.dumps({"games": rows}))
        return 0
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("name", "title", "console", "ROM"):
        table.add_column(heading)
    for title in titles:
        console = {"gb": "Game Boy", "gba": "Game Boy Advance", "genesis": "Mega Drive"}.get(title.system, title.system)
        rom = "inside the package" if title.builtin_rom else "your own, with --rom"
        if title.retro_rom:
            rom = escape("in stable-retro (parcade[retro])")
        table.add_row(title.name, title.title, console, rom)
    Console(highlight=False).print(table)
    print("\nTrain one with `parcade train --game NAME`; any Gymnasium env with `--env-id ID`.")
    return 0
