"""Go on with an interrupted run from its newest checkpoint.

  parcade resume results/lantern/20261115-120000
  parcade resume RUN --n-workers 4          other workers, same numbers
  parcade resume RUN --timesteps 2M         train longer than first planned

metrics.jsonl, weights and evaluations are those the run would have had without the break.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from parcade.cli.flags import add_setting_flags, given_settings

CHANGEABLE = {
    "n_workers",
    "parallel_start_method",
    "worker_restarts",
    "step_deadline_s",
    "worker_memory_mb",
    "pin_workers",
    "total_timesteps",
    "save_freq",
    "keep_checkpoints",
    "final_eval_episodes",
    "video",
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the settings that may change."""
    parser.add_argument("run_dir", metavar="RUN", help="the run's folder")
    parser.add_argument("--plain", action="store_true", help="lines instead of a live display")
    add_setting_flags(parser, CHANGEABLE)


def run(arguments: argparse.Namespace) -> int:
    """Resume; the last line is JSON on request."""
    from parcade.cli.progress import progress
    from parcade.training import resume

    with progress(plain=arguments.plain or arguments.json) as watcher:
        result = resume(arguments.run_dir, on_event=watcher, **given_settings(arguments))
    if arguments.json:
        print(json.dumps(asdict(result)))
    return 130 if result.interrupted else 0
