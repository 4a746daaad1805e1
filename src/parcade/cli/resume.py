"""Continue an interrupted run from its newest checkpoint.

  parcade resume                            the newest run in results/
  parcade resume results/lantern/20261115-120000
  parcade resume RUN --n-workers 4          other workers, same numbers
  parcade resume RUN --cluster none         a run that began on a cluster, on this machine alone
  parcade resume RUN --timesteps 2M         train longer than first planned
  parcade resume RUN --game my_game:MyGame  your own game is imported only if you name it

metrics.jsonl, weights and evaluations are those of a run without the interruption. A finished run does not change.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from parcade.cli.flags import (
    add_setting_flags,
    add_view_flags,
    add_window_flags,
    given_settings,
    opened_page,
    opened_window,
)

CHANGEABLE = {
    "n_workers",
    "follow_machine",
    "learners",
    "cluster",
    "cluster_wait",
    "parallel_start_method",
    "worker_restarts",
    "step_deadline_s",
    "worker_memory_mb",
    "pin_workers",
    "total_timesteps",
    "save_freq",
    "keep_checkpoints",
    "keep_models",
    "episodes_mb",
    "eval_freq",
    "n_eval_episodes",
    "eval_minutes",
    "final_eval_episodes",
    "video",
    "track",
    "track_project",
    "llm",
    "llm_model",
    "llm_key_env",
    "llm_seconds",
    "coach_replay",
}

NAMED_AGAIN = {
    "game",
    "env_id",
    "imports",
    "rom",
    "state",
    "env_kwargs",
}  # what a run's folder alone is not trusted for


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the settings that may change."""
    parser.add_argument("run_dir", metavar="RUN", nargs="?", help="the run's folder [the newest in --log-root]")
    parser.add_argument("--plain", action="store_true", help="print lines instead of a live display")
    add_view_flags(parser)
    add_window_flags(parser)
    add_setting_flags(parser, CHANGEABLE | NAMED_AGAIN | {"log_root"})


def run(arguments: argparse.Namespace) -> int:
    """Resume; the last line is JSON on request."""
    from parcade.cli.progress import progress
    from parcade.cli.run_folder import named_or_newest
    from parcade.cli.terminal import print_result
    from parcade.cluster.opening import RayMachines
    from parcade.train.resume import finished, resume

    changes = given_settings(arguments)
    log_root = changes.pop("log_root", None)  # it says where to look, and changes nothing of a run
    arguments.run_dir = named_or_newest(arguments.run_dir, log_root)
    done = finished(arguments.run_dir, **changes)
    if done is not None:
        text = f"{arguments.run_dir} is finished after {done.env_steps:,} steps; --timesteps N trains on to N steps"
        print(text, file=sys.stderr if arguments.json else sys.stdout)
        if arguments.json:
            print(json.dumps({**asdict(done), "already_finished": True}))
        return 0
    shown = progress(arguments.plain or arguments.json, summary_to_stderr=arguments.json)
    page = opened_page(arguments, str(arguments.run_dir))
    with page, opened_window(arguments, str(arguments.run_dir)) as watch, shown as watcher:
        result = resume(arguments.run_dir, on_event=watcher, watch=watch, machines=RayMachines(), **changes)
    if arguments.json:
        print_result(json.dumps({**asdict(result), "already_finished": False}))
    return watcher.exit_code
