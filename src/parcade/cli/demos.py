"""List, check, show and film recorded episodes: demonstrations, or a kept episode of a run.

  parcade demos demo.zip                        every episode of the file
  parcade demos demo.zip --check                play all again, and compare with what was recorded
  parcade demos demo.zip --episode 2 --video demo.mp4
  parcade demos demo.zip --visual               in a window, at the game's own speed

`parcade play --record FILE` records your own play, `parcade record FILE` records a model or a bot.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from parcade.cli.flags import UsageError, whole_number
from parcade.cli.recorded import add_recorded_flags, carry_out, check_flags, rows_of
from parcade.cli.terminal import print_result
from parcade.host.wording import counted

if TYPE_CHECKING:
    from parcade.run.episodes import EpisodeRecord


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what chooses episodes and what is done with them."""
    parser.add_argument("file", metavar="FILE", help="file of recorded episodes")
    parser.add_argument("--episode", type=whole_number, metavar="N", help="one episode of the file, from 1 on [all]")
    add_recorded_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """List or replay; 1 if an episode is not what was recorded."""
    from parcade.train.demonstrations import load_demos

    check_flags(arguments)
    records = load_demos(arguments.file)
    if arguments.episode is not None:
        if not 1 <= arguments.episode <= len(records):
            raise UsageError(f"--episode is {arguments.episode}, but {arguments.file} holds 1 to {len(records):,}")
        records = [records[arguments.episode - 1]]
    done = carry_out(arguments, records, arguments.file)
    if arguments.json:
        origin = records[0].origin.to_dict()
        episodes = [record.facts() for record in records]
        print_result(json.dumps({"file": arguments.file, "origin": origin, "episodes": episodes, **done}))
    elif (not done and not arguments.visual) or arguments.list_episodes:
        print_result("\n".join(_listing(arguments.file, records)))
    return 1 if done.get("differences") else 0


def _listing(file: str, records: list[EpisodeRecord]) -> list[str]:
    origin = records[0].origin
    env = origin.env.get("game") or origin.env.get("env_id") or "an env of a function"
    steps = counted(sum(record.length for record in records), "step")
    head = (
        f"{file}: {counted(len(records), 'episode')} ({steps}) of {env}, by a {origin.player}, Parcade {origin.parcade}"
    )
    return [head, *rows_of([{**record.facts(), "number": record.number} for record in records])]
