"""What `replay` and `demos` have in common: recorded episodes listed, checked, filmed and shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import (
    UsageError,
    add_setting_flags,
    add_speed_flag,
    add_window_flags,
    given_settings,
    opened_window,
)
from parcade.host.wording import counted

if TYPE_CHECKING:
    from parcade.run.episodes import EpisodeRecord

NAMED = {"game", "env_id", "imports", "rom", "state", "env_kwargs"}  # what a file alone is not trusted for


def add_recorded_flags(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with recorded episodes."""
    parser.add_argument("--list", action="store_true", dest="list_episodes", help="list the episodes")
    parser.add_argument(
        "--check", action="store_true", help="play again and compare return, length and metrics with the recorded ones"
    )
    parser.add_argument("--video", metavar="FILE", help="write an mp4 of the whole episode")
    add_window_flags(parser)
    add_speed_flag(parser)
    add_setting_flags(parser, NAMED)


def check_flags(arguments: argparse.Namespace) -> None:
    """Refuse what goes wrong only after an episode was played."""
    if arguments.speed is not None and not arguments.visual:
        raise UsageError("--speed says how fast a window shows the game; add --visual to open one")
    if arguments.video and not Path(arguments.video).parent.is_dir():
        raise UsageError(f"the folder of {arguments.video} does not exist")


def carry_out(arguments: argparse.Namespace, records: Sequence[EpisodeRecord], where: str) -> dict[str, Any]:
    """Check, show and film episodes as the flags ask for; return what came of it, JSON-ready."""
    from parcade.train.replay import film_replays

    named, done = given_settings(arguments), dict[str, Any]()
    named.pop("video", None)
    if arguments.check:
        done["differences"] = _checked(records, where, named)
    if arguments.visual:
        _show(arguments, records, where, named)
    if arguments.video:
        done["pictures"] = film_replays(records, where, named, Path(arguments.video))
        done["video"] = arguments.video
        print(f"{arguments.video} shows {counted(done['pictures'], 'picture')}", file=sys.stderr)
    return done


def _checked(records: Sequence[EpisodeRecord], where: str, named: dict[str, Any]) -> dict[str, list[str]]:
    from parcade.train.replay import check_episode

    found = {}
    for index, record in enumerate(records):
        name = str(record.number or index + 1)
        differing = check_episode(record, where, named).differences
        if differing:
            found[name] = list(differing)
            print(f"parcade: episode {name} of {where} does not replay: {'; '.join(differing)}", file=sys.stderr)
        elif sys.stderr.isatty() and len(records) > 1:
            print(f"\repisode {index + 1} of {len(records)}", end="", file=sys.stderr, flush=True)
    what = "return, length and metrics are as recorded"
    if not found:
        told = f"the episode replays exactly: {what}" if len(records) == 1 else f"all {len(records):,} replay: {what}"
        print(told, file=sys.stderr)
    return found


def _show(arguments: argparse.Namespace, records: Sequence[EpisodeRecord], where: str, named: dict[str, Any]) -> None:
    from parcade.env.replay import open_replay

    label = str(records[0].origin.env.get("game") or records[0].origin.env.get("env_id"))
    with opened_window(arguments, label, 1.0 if arguments.speed is None else arguments.speed) as watch:
        for record in records:
            with open_replay(record, where, named, watch=watch) as played:
                while played.step():
                    pass


def rows_of(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of episodes: number, seed, return, length, how it ended, and why it is kept."""
    rows = [("episode", "seed", "return", "length", "end", "env steps", "kept as")]
    for index, one in enumerate(facts):
        number = one["number"] if one["number"] is not None else index + 1
        steps = "" if one["env_steps"] is None else f"{one['env_steps']:,}"
        rows.append(
            (
                *(f"{number:,}", str(one["seed"]), f"{one['total_reward']:.2f}", f"{one['length']:,}"),
                *(end_of(one), steps, _reasons(one)),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _reasons(one: Mapping[str, Any]) -> str:
    named = [f"first {name}" for name in one.get("first", ())]
    return ", ".join([*(kind for kind in one.get("kinds", ()) if kind != "first"), *named])


def end_of(one: Mapping[str, Any]) -> str:
    """Return how an episode ended, in a word."""
    return "terminated" if one["terminated"] else "truncated" if one["truncated"] else "stopped"
