"""Record episodes of a trained model, or of a bot of your own. Another policy can learn from the file.

  parcade record --model best_model.zip --episodes 50 demos.zip
  parcade record --bot my_bot:play --game lantern demos.zip
  parcade train --algorithm cloning --demos demos.zip

It plays on unseen seeds: a model in the env that it was trained in, a bot in the one that you name. A bot is a function
that takes the env at the start of an episode and returns a function from observations to actions (docs/episodes.md).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number
from parcade.host.wording import counted

ENV_SETTINGS = {"game", "env_id", "rom", "state", "imports", "env_kwargs", "n_workers"}
FOR_BOTS = {"observation", "max_steps", "frame_skip", "game_options", "console", "reward_weights"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the recording's flags."""
    parser.add_argument("file", metavar="FILE", help="file to write the episodes to")
    parser.add_argument("--model", metavar="FILE", help="model file (models/best_model.zip of a run)")
    parser.add_argument("--bot", metavar="MODULE:NAME", help="a bot of your own instead of a model")
    parser.add_argument("--episodes", type=whole_number, default=10, metavar="N", help="number of episodes [10]")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="selects the unseen seeds [0]")
    parser.add_argument(
        "--deterministic", action="store_true", help="take the likeliest action instead of a sampled one"
    )
    add_setting_flags(parser, ENV_SETTINGS | FOR_BOTS)


def run(arguments: argparse.Namespace) -> int:
    """Record; the last line is JSON on request."""
    path = Path(arguments.file)
    if not path.parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist")
    if (arguments.model is None) == (arguments.bot is None):
        raise UsageError("record needs --model FILE or --bot MODULE:NAME, and not both")
    given = given_settings(arguments)
    given.pop("model", None), given.pop("seed", None)
    records = _of_bot(arguments, path, given) if arguments.bot else _of_model(arguments, path, given)
    steps = sum(record.length for record in records)
    if arguments.json:
        print(json.dumps({"file": str(path), "episodes": len(records), "steps": steps}))
    else:
        print(f"{counted(steps, 'step')} of {counted(len(records), 'episode')} are in {path}")
    return 0


def _of_model(arguments: argparse.Namespace, path: Path, given: dict[str, Any]) -> list[Any]:
    from parcade.train.recording import record

    wrong = sorted(FOR_BOTS & given.keys())
    if wrong:
        raise UsageError(f"--{wrong[0].replace('_', '-')} is for --bot; a model plays in the env it was trained in")
    asked = {"episodes": arguments.episodes, "seed": arguments.seed, "deterministic": arguments.deterministic}
    return record(arguments.model, path, **asked, **given)


def _of_bot(arguments: argparse.Namespace, path: Path, given: dict[str, Any]) -> list[Any]:
    from parcade.config.settings import make_settings
    from parcade.train.given import env_spec, with_title
    from parcade.train.recording import find_bot, record_bot

    for flag, value in {"--deterministic": arguments.deterministic, "--n-workers": "n_workers" in given}.items():
        if value:
            raise UsageError(f"{flag} is for --model; a bot runs in this process and chooses its own actions")
    bot, spec = find_bot(arguments.bot), env_spec(make_settings(with_title(given)))
    return record_bot(bot, spec, path, episodes=arguments.episodes, seed=arguments.seed)
