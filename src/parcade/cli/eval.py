"""Play a trained model, or a random policy, on seeds never trained on.

parcade eval --model results/lantern/<run>/models/best_model.zip --episodes 100
parcade eval --model best_model.zip --video          also writes an mp4 of the first three episodes
parcade eval --random --game lantern --episodes 100  what chance alone reaches
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number

ENV_SETTINGS = {"game", "env_id", "rom", "state", "console", "imports", "max_steps", "frame_skip", "observation"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the evaluation's flags."""
    parser.add_argument("--model", metavar="FILE", help="a model file (models/best_model.zip of a run)")
    parser.add_argument("--random", action="store_true", help="a random policy instead of a model")
    parser.add_argument("--episodes", type=whole_number, default=10, metavar="N", help="how many episodes [10]")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="which unseen seeds [0]")
    parser.add_argument("--deterministic", action="store_true", help="the likeliest action instead of a drawn one")
    parser.add_argument(
        "--video", nargs="?", const="eval.mp4", metavar="FILE", help="write an mp4 of the first three [eval.mp4]"
    )
    parser.add_argument("--list", action="store_true", dest="list_episodes", help="with --json: every episode as well")
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; print a summary, or JSON on request."""
    if arguments.model is None and not arguments.random:
        raise UsageError("eval needs --model FILE or --random")
    if arguments.model is not None and arguments.random:
        raise UsageError("eval takes --model FILE or --random, not both")
    if arguments.video and not Path(arguments.video).parent.is_dir():
        raise UsageError(f"the folder of {arguments.video} does not exist")
    from parcade.evaluation import evaluate
    from parcade.settings import make_settings
    from parcade.training import env_spec

    given = given_settings(arguments)
    given.pop("model", None), given.pop("seed", None), given.pop("video", None)
    spec = env_spec(make_settings(given)) if arguments.random else None
    result = evaluate(
        arguments.model,
        random=arguments.random,
        spec=spec,
        episodes=arguments.episodes,
        seed=arguments.seed,
        deterministic=arguments.deterministic,
        video=arguments.video,
        on_episode=_counter(arguments.episodes),
        **({} if arguments.random else given),
    )
    if arguments.json:
        print(json.dumps(result.to_dict(with_episodes=arguments.list_episodes)))
        return 0
    print(f"{len(result.episodes)} episodes on unseen seeds in {result.seconds:.1f} s")
    print(f"  return         {result.return_mean:.2f} ± {result.return_std:.2f}")
    print(f"  length         {result.length_mean:.0f} ± {result.length_std:.0f} steps")
    if result.success_rate is not None:
        print(f"  success        {result.success_rate:.2f}")
    names = [name for name in result.episodes[0].metrics if name != "success"]
    for name in names:
        mean = sum(e.metrics[name] for e in result.episodes) / len(result.episodes)
        print(f"  {name:<14} {mean:.2f}")
    if result.video:
        print(f"  video          {result.video}")
    return 0


def _counter(episodes: int) -> Any:
    """Show how far it is, where somebody watches."""
    if not sys.stderr.isatty():
        return None

    def show(index: int, episode: Any) -> None:
        end = "\n" if index + 1 == episodes else ""
        print(f"\repisode {index + 1} of {episodes}", end=end, file=sys.stderr, flush=True)

    return show
