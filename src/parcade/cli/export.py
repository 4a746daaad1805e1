"""Write a trained model as a file of another program, and check it on real play.

  parcade export --model best_model.zip --to onnx --out policy.onnx         for onnxruntime, browsers, phones
  parcade export --model best_model.zip --to torchscript --out policy.pt    for torch.jit.load, in Python and C++
  parcade export --model best_model.zip --to sb3 --out policy.zip           for stable_baselines3.PPO.load

The model plays real steps on unseen seeds, the file answers the same observations, and the largest difference is
printed. docs/export.md explains the files and their use.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number
from parcade.host.wording import counted

ENV_SETTINGS = {"game", "env_id", "rom", "state", "imports", "env_kwargs"}
FORMATS = ("onnx", "sb3", "torchscript")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the export's flags."""
    parser.add_argument("--model", metavar="FILE", required=True, help="model file (models/best_model.zip of a run)")
    parser.add_argument("--to", choices=FORMATS, required=True, help="format of the file")
    parser.add_argument("--out", metavar="FILE", required=True, help="file to write")
    parser.add_argument(
        "--steps", type=whole_number, default=500, metavar="N", help="steps of real play to check [500]"
    )
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="selects the unseen seeds [0]")
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Export; the last line is JSON on request."""
    from parcade.export.export import export_model

    if arguments.seed < 0:
        raise UsageError(f"--seed is {arguments.seed}, wanted 0 or more")
    given = given_settings(arguments)
    given.pop("model", None), given.pop("seed", None)
    made = export_model(
        arguments.model, arguments.out, to=arguments.to, steps=arguments.steps, seed=arguments.seed, **given
    )
    if arguments.json:
        print(json.dumps(made.to_dict()))
    else:
        _print(made)
    return 0


def _print(made: Any) -> None:
    from parcade.export.export import ROUNDING

    found = made.difference
    same = found.steps - found.other_actions
    actions = "all actions the same" if same == found.steps else f"{same:,} of {found.steps:,} actions the same"
    print(f"{made.file} holds the policy ({made.bytes / 1e6:.1f} MB)")
    print(
        f"  checked on {counted(found.steps, 'step')} of {counted(found.episodes, 'episode')} of {made.env}: "
        f"max difference {found.largest:.1e}, {actions}"
    )
    if found.largest > ROUNDING:
        print(f"  that is more than rounding usually makes ({ROUNDING:g}); look at it before you rely on the file")
