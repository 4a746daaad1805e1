"""Replay a kept episode of a run exactly.

  parcade replay                               facts about the best episode of the newest run in results/
  parcade replay RUN --list                    every kept episode: the newest, best, worst, first of each milestone
  parcade replay RUN --episode last --check    play it, and compare return, length and metrics with the recorded ones
  parcade replay RUN --episode 1234 --video episode.mp4
  parcade replay RUN --episode worst --visual  in a window, at the game's own speed (--speed 4: four times)

An episode is a function of its seed and its actions. The run keeps both in its folder episodes/, and the game plays
them again. --episode takes best, worst, last, first, a milestone's name, a number, or with --check all.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import UsageError, add_setting_flags
from parcade.cli.recorded import add_recorded_flags, carry_out, check_flags, end_of, rows_of
from parcade.cli.terminal import print_result

if TYPE_CHECKING:
    from parcade.run.kept_episodes import KeptIndex

ALL = "all"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the episode and what is done with it."""
    parser.add_argument("run_dir", metavar="RUN", nargs="?", help="the run's folder [the newest in --log-root]")
    parser.add_argument(
        "--episode", default="best", metavar="WHICH", help="best, worst, last, first, a milestone, or a number [best]"
    )
    add_recorded_flags(parser)
    add_setting_flags(parser, {"log_root"})


def run(arguments: argparse.Namespace) -> int:
    """Replay; 1 if the episode is not what was recorded."""
    from parcade.cli.run_folder import named_or_newest
    from parcade.run.directory import RunFolder
    from parcade.run.kept_episodes import file_name, read_index
    from parcade.train.replay import find_episode

    check_flags(arguments)
    if arguments.episode == ALL and (not arguments.check or arguments.video or arguments.visual):
        raise UsageError("--episode all is for --check; name one episode to show or film it")
    folder = named_or_newest(arguments.run_dir, getattr(arguments, "log_root", None))
    index = read_index(RunFolder.open(folder).episodes)
    if arguments.list_episodes:
        return _list(index, arguments.json)
    numbers = list(index.facts) if arguments.episode == ALL else [find_episode(index, arguments.episode)]
    where = str(index.folder / file_name(numbers[0]) if len(numbers) == 1 else index.folder)
    done = carry_out(arguments, [index.load(number) for number in numbers], where)
    if arguments.json:
        told = {"episode": dict(index.facts[numbers[0]])} if len(numbers) == 1 else {"episodes": len(numbers)}
        print_result(json.dumps({"run": folder, **told, **done}))
    elif len(numbers) == 1:
        print_result("\n".join(_summary(index.facts[numbers[0]], index, where)))
    return 1 if done.get("differences") else 0


def _list(index: KeptIndex, as_json: bool) -> int:
    if as_json:
        print_result(json.dumps(index.to_dict()))
    else:
        print_result("\n".join(rows_of(list(index.facts.values()))))
    return 0


def _summary(facts: Any, index: KeptIndex, where: str) -> list[str]:
    kinds = [f"{kind} {index.kinds[kind].index(facts['number']) + 1}" for kind in facts["kinds"] if kind != "first"]
    firsts = [f"first to reach {name}" for name in facts["first"]]
    lines = [
        f"episode {facts['number']:,} of the run ({', '.join([*kinds, *firsts])})",
        f"  seed           {facts['seed']}",
        f"  return         {facts['total_reward']:.2f}",
        f"  length         {facts['length']:,} steps, {end_of(facts)}",
    ]
    if facts["slot"] is not None and facts["env_steps"] is not None:
        lines.append(f"  played         in game {facts['slot']}, after {facts['env_steps']:,} steps of training")
    lines += [f"  {name:<14} {value:g}" for name, value in facts["metrics"].items()]
    return [*lines, f"  file           {where}"]
