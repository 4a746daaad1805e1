"""The flags and the work of `parcade guide write`."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number
from parcade.cli.recorded import NAMED
from parcade.config.llm_address import KEY_VARIABLE
from parcade.host.wording import counted

if TYPE_CHECKING:
    from parcade.env.spec import EnvSpec
    from parcade.guide.author import Written
    from parcade.guide.client import LlmClient
    from parcade.guide.moments import Sampled

_OF_GAME = {"game", "game_options", "rom", "state", "console"}
_OF_MODEL = {"llm", "llm_model", "llm_key_env", "llm_seconds"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--out", default="guide.yaml", metavar="FILE.yaml", help="the guide's file [guide.yaml]")
    parser.add_argument("--rounds", type=whole_number, metavar="N", default=3, help="ask the model at most N times [3]")
    parser.add_argument("--pictures", action="store_true", help="send pictures of the moments too")
    parser.add_argument(
        "--episodes",
        metavar="RUN_OR_FILE",
        help="take the moments from a run's kept episodes or a file of them [some episodes of random actions]",
    )
    add_setting_flags(parser, _OF_GAME | _OF_MODEL)


def run(arguments: argparse.Namespace) -> int:
    """Have a guide written; the last line is JSON on request."""
    from parcade.guide.author import MOST_ROUNDS, write_guide
    from parcade.guide.guide_file import check_new, conversation_path, save_guide

    if not 1 <= arguments.rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds is {arguments.rounds}, wanted 1 to {MOST_ROUNDS}")
    out = Path(arguments.out)
    check_new(out)
    spec, opened = _spec(arguments), _opened(arguments)
    sampled = _sampled(arguments, spec)
    with opened as client:
        written = write_guide(_game_of(spec), sampled, client, rounds=arguments.rounds, simple=client.is_small)
        save_guide(out, written.guide, f"{client.model} (parcade guide write)", written.conversation.to_dict(client))
    _tell(arguments, written, out, conversation_path(out))
    return 0


def _spec(arguments: argparse.Namespace) -> EnvSpec:
    from parcade.env.spec import EnvSpec
    from parcade.train.given import with_title

    given = with_title(given_settings(arguments))
    if not isinstance(given.get("game"), str):
        raise UsageError("name the game of the guide with --game NAME")
    spec = EnvSpec(**{name: value for name, value in given.items() if name in _OF_GAME})
    game = _game_of(spec)
    if not game.fields:
        raise UsageError(f"{game.name} names no fields that a condition could use (docs/add-a-game.md)")
    return spec


def _game_of(spec: EnvSpec) -> Any:
    from parcade.env.make import make_game

    return make_game(spec)


def _named(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in given_settings(arguments).items() if name in NAMED}


def _sampled(arguments: argparse.Namespace, spec: EnvSpec) -> Sampled:
    from parcade.guide.moments import played_moments, recorded_moments

    if arguments.episodes is None:
        return played_moments(spec, pictures=arguments.pictures)
    from parcade.train.guide_test import recorded_episodes

    records = recorded_episodes(arguments.episodes)
    if not records:
        raise UsageError(f"{arguments.episodes} holds no episodes")
    return recorded_moments(records, arguments.episodes, _named(arguments), pictures=arguments.pictures)


def _opened(arguments: argparse.Namespace) -> AbstractContextManager[LlmClient]:
    from parcade.guide.asked import asked_model
    from parcade.guide.embedded import NOTE

    given = given_settings(arguments)
    if given.get("llm") is None and arguments.pictures:
        raise UsageError("the small model cannot see pictures; name a server that can with --llm URL")
    key = given.get("llm_key_env", KEY_VARIABLE)
    opened = asked_model(given.get("llm"), given.get("llm_model"), key, given.get("llm_seconds"))
    if given.get("llm") is None:
        print(f"parcade: {NOTE}", file=sys.stderr)
    return opened


def _tell(arguments: argparse.Namespace, written: Written, out: Path, conversation: Path) -> None:
    rounds, milestones = len(written.conversation.rounds), written.guide["milestones"]
    if arguments.json:
        told = {"file": str(out), "milestones": len(milestones), "rounds": rounds, "left_out": list(written.left_out)}
        print(json.dumps({**told, "conversation": str(conversation)}))
        return
    for fault in written.left_out:
        print(f"left out: {fault}")
    done = f"{counted(len(milestones), 'milestone')} after {counted(rounds, 'round')}"
    print(f"{out}: {done}; the conversation is in {conversation}")
    for one in milestones:
        print(f"  {one['name']}: {one['when']}")
