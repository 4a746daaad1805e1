"""Train an agent.

  parcade train                                       Lantern, the built-in game, with settings that suit it
  parcade train --n-envs 64 --timesteps 2M            more games, more steps
  parcade train --env-id CartPole-v1 --timesteps 50k  any Gymnasium env
  parcade train --config mine.yaml --seed 3           a file holds the settings, flags override it
  parcade train --view                                a page with every game, in your browser
  parcade train --visual                              a window with every game and what the policy sees
  parcade train --shards 4 --cluster auto             the same numbers on a Ray cluster (docs/cluster.md)
  parcade train --algorithm cloning --demos demos.zip   learn from recorded play

The run is written to results/<run_name>/<timestamp>/: config, metrics, checkpoints, models, a video, report.html.
Ctrl-C ends the training and writes a checkpoint; `parcade resume` continues from it. A second Ctrl-C ends it at once.
You can write numbers as 250k, 2M or 1e6. docs/settings.md explains every setting.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from parcade.cli.flags import (
    add_setting_flags,
    add_view_flags,
    add_window_flags,
    given_settings,
    opened_page,
    opened_window,
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the settings' flags."""
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file with settings; flags override it")
    parser.add_argument("--plain", action="store_true", help="print lines instead of a live display")
    add_view_flags(parser)
    add_window_flags(parser)
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train; the last line is JSON on request."""
    from parcade.cli.progress import progress
    from parcade.cli.terminal import print_result
    from parcade.cluster.opening import RayMachines
    from parcade.train.given import settings_for, settings_of_file
    from parcade.train.start import train

    flags = given_settings(arguments)
    settings = settings_of_file(arguments.config, flags) if arguments.config else settings_for(flags)
    plain, as_json = arguments.plain or arguments.json, arguments.json
    shown = progress(plain, summary_to_stderr=as_json)
    with opened_page(arguments, settings.log_root), opened_window(arguments, settings.name) as watch, shown as watcher:
        result = train(settings, on_event=watcher, watch=watch, machines=RayMachines())
    if arguments.json:
        print_result(json.dumps(asdict(result)))
    return watcher.exit_code
