"""Record what a trained model sees and does. Another policy can learn from the file.

  parcade record --model best_model.zip --episodes 50 demos.zip
  parcade train --algorithm cloning --demonstrations demos.zip

The model plays on unseen seeds, in the env that it was trained in.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number

ENV_SETTINGS = {"game", "env_id", "rom", "state", "imports", "env_kwargs", "n_workers"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the recording's flags."""
    parser.add_argument("file", metavar="FILE", help="file to write the steps to")
    parser.add_argument("--model", metavar="FILE", required=True, help="model file (models/best_model.zip of a run)")
    parser.add_argument("--episodes", type=whole_number, default=10, metavar="N", help="number of episodes [10]")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="selects the unseen seeds [0]")
    parser.add_argument(
        "--deterministic", action="store_true", help="take the likeliest action instead of a sampled one"
    )
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Record; the last line is JSON on request."""
    from parcade.train.recording import record

    path = Path(arguments.file)
    if not path.parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist")
    given = given_settings(arguments)
    given.pop("model", None), given.pop("seed", None)
    steps = record(
        arguments.model,
        path,
        episodes=arguments.episodes,
        seed=arguments.seed,
        deterministic=arguments.deterministic,
        **given,
    )
    if arguments.json:
        print(json.dumps({"file": str(path), "episodes": arguments.episodes, "steps": steps}))
    else:
        print(f"{steps:,} steps of {arguments.episodes:,} episodes are in {path}")
    return 0
