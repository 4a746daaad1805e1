"""Evaluate a trained model, or a random policy, on seeds that training never uses.

parcade eval --model results/lantern/<run>/models/best_model.zip --episodes 100
parcade eval --model best_model.zip --video          also writes an mp4 of the first three episodes (play.gif: a GIF)
parcade eval --model best_model.zip --visual         in a window, at the game's own speed (--speed 4: four times)
parcade eval --random --game lantern --episodes 100  the baseline
parcade eval --model best_model.zip --episodes 1000 --cluster auto   on all nodes of a Ray cluster, the same numbers

A model of CarRacing plays Gymnasium's own env; --fast selects Parcade's fast renderer. --json writes every episode
(seed, return, length, metrics) to eval.json and prints the summary as the last line. After Ctrl-C the episodes that
have ended count.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcade.cli.flags import (
    UsageError,
    add_setting_flags,
    add_speed_flag,
    add_window_flags,
    given_settings,
    opened_window,
    whole_number,
)

ENV_SETTINGS = {
    *("game", "env_id", "rom", "state", "console", "imports", "env_kwargs", "max_steps", "frame_skip", "observation"),
    *("game_options", "reward_weights", "guide", "racing", "n_workers"),
}
LINE_EVERY_S = 5.0


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the evaluation's flags."""
    parser.add_argument("--model", metavar="FILE", help="model file (models/best_model.zip of a run)")
    parser.add_argument("--random", action="store_true", help="play a random policy instead of a model")
    parser.add_argument("--episodes", type=whole_number, default=10, metavar="N", help="number of episodes [10]")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="selects the unseen seeds [0]")
    parser.add_argument(
        "--deterministic", action="store_true", help="take the likeliest action instead of a sampled one"
    )
    parser.add_argument(
        "--video",
        nargs="?",
        const="eval.mp4",
        metavar="FILE",
        help="write an mp4, or a .gif, of the first three episodes [eval.mp4]",
    )
    parser.add_argument(
        "--episodes-file", metavar="FILE", help="write every episode to this JSON file [with --json: eval.json]"
    )
    parser.add_argument("--list", action="store_true", dest="list_episodes", help="print every episode too")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        dest="on_cluster",
        help="play on all nodes of a Ray cluster: its address (host:port), or auto: the one of this machine",
    )
    add_window_flags(parser)
    add_speed_flag(parser)
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate; print a summary, or JSON on request."""
    _check(arguments)
    signals: list[int] = []  # that asked to stop
    result = _evaluate(arguments, signals)
    code = 128 + signals[0] if signals else 0
    if not result.episodes:
        print("parcade: stopped before the first episode ended", file=sys.stderr)
        return code
    place = arguments.episodes_file or ("eval.json" if arguments.json else None)
    if place:
        _write_episodes(Path(place), arguments, result)
    if arguments.json:
        print(json.dumps({**result.to_dict(with_episodes=arguments.list_episodes), "episodes_file": place}))
    else:
        if arguments.list_episodes:
            _print_episodes(result)
        _print_summary(result, place)
    return 0 if len(result.episodes) == arguments.episodes else code


def _check(arguments: argparse.Namespace) -> None:
    if arguments.model is None and not arguments.random:
        raise UsageError("eval needs --model FILE or --random")
    if arguments.model is not None and arguments.random:
        raise UsageError("eval takes --model FILE or --random, not both")
    if arguments.model is not None and "guide" in given_settings(arguments):
        raise UsageError("a model plays with the guide it was trained with; --guide is for --random")
    if arguments.speed is not None and not arguments.visual:
        raise UsageError("--speed says how fast a window shows the game; add --visual to open one")
    if arguments.on_cluster and arguments.visual:
        raise UsageError("--visual shows a game of this machine; leave out --cluster")
    if arguments.seed < 0:
        raise UsageError(f"--seed is {arguments.seed}, wanted 0 or more")
    for file in (arguments.video, arguments.episodes_file):
        if file and not Path(file).parent.is_dir():
            raise UsageError(f"the folder of {file} does not exist")
    if arguments.video:
        from parcade.run.video import check_video_name

        check_video_name(Path(arguments.video))


def _evaluate(arguments: argparse.Namespace, asked: list[int]) -> Any:
    from parcade.api import evaluate
    from parcade.config.settings import make_settings
    from parcade.env.picture_file import CLOSED
    from parcade.train.given import env_spec, with_title
    from parcade.train.policy_file import load_policy
    from parcade.train.process_context import stop_on_signal

    given = given_settings(arguments)
    given.pop("model", None), given.pop("seed", None), given.pop("video", None)
    spec = env_spec(make_settings(with_title(given))) if arguments.random else load_policy(arguments.model)[1].spec
    other = given.get("env_id" if spec.game else "game")
    if other is not None:
        raise UsageError(f"{arguments.model} was trained in {spec.label}; it cannot play {other}")
    racing, n_workers = given.pop("racing", None), given.pop("n_workers", None)
    if racing and "CarRacing" not in (given.get("env_id") or spec.env_id or ""):
        raise UsageError(f"--{racing} is for CarRacing, not for {given.get('env_id') or spec.label}")
    folders: list[str] = []  # of the window, if there is one

    def request_stop(number: int) -> bool:  # notes it: an emulator may swallow the exception that Ctrl-C raises
        asked.append(number)
        for folder in folders:  # the rest of the episode need not keep the pace
            Path(folder, CLOSED).touch()
        return len(asked) == 1

    speed = 1.0 if arguments.speed is None else arguments.speed
    with opened_window(arguments, spec.label, speed) as watch, stop_on_signal(request_stop):
        folders += [watch.folder] if watch else []
        return evaluate(
            arguments.model,
            random=arguments.random,
            spec=spec if arguments.random else None,
            episodes=arguments.episodes,
            seed=arguments.seed,
            deterministic=arguments.deterministic,
            racing=racing or "official",
            video=arguments.video,
            n_workers=n_workers,
            on_episode=_counter(arguments.episodes, films=arguments.video is not None),
            watch=watch,
            stopped=lambda: bool(asked),
            cluster=arguments.on_cluster,
            **({} if arguments.random else given),
        )


def _write_episodes(path: Path, arguments: argparse.Namespace, result: Any) -> None:
    data = {
        "model": arguments.model or "random",
        "seed": arguments.seed,
        "deterministic": arguments.deterministic,
        **result.to_dict(with_episodes=True),
    }
    try:
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the episodes cannot be written to {path}: {error.strerror}") from None


def _print_episodes(result: Any) -> None:
    for episode in result.episodes:
        told = [f"{name} {value:g}" for name, value in episode.metrics.items()]
        facts = [f"return {episode.total_reward:.2f}", f"{episode.length} steps", *told]
        print(f"seed {episode.seed}: {', '.join(facts)}")


def _print_summary(result: Any, place: str | None) -> None:
    from parcade.host.wording import counted

    print(f"{counted(len(result.episodes), 'episode')} of {result.env} on unseen seeds in {result.seconds:.1f} s")
    rows = _summary_rows(result, place)
    width = max(14, *map(len, rows))
    for name, value in rows.items():
        print(f"  {name:<{width}} {value}")


def _summary_rows(result: Any, place: str | None) -> dict[str, str]:
    """Return what is printed of an evaluation, by name."""
    rows = {
        "return": f"{result.return_mean:.2f} ± {result.return_std:.2f}",
        "length": f"{result.length_mean:.0f} ± {result.length_std:.0f} steps",
    }
    if result.success_rate is not None:
        rows["success"] = f"{result.success_rate:.2f}"
    for name in dict.fromkeys(name for e in result.episodes for name in e.metrics if name != "success"):
        told = [e.metrics[name] for e in result.episodes if name in e.metrics]
        rows[name] = f"{sum(told) / len(told):.2f}"
    if result.cut_episodes:
        rows["crashed"] = f"{result.cut_episodes}, left out"
    if result.video:
        rows["video"] = str(result.video)
    if place:
        rows["every episode"] = place
    return rows


def _counter(episodes: int, *, films: bool) -> Callable[[int, Any], None]:
    """Show how far it is: in place where somebody watches, else a line now and then; and that a video is next."""
    is_terminal, said_s = sys.stderr.isatty(), time.monotonic()

    def show(index: int, episode: Any) -> None:
        nonlocal said_s
        text = f"episode {index + 1} of {episodes}: return {episode.total_reward:.1f}"
        if is_terminal:
            print(f"\r{text}   ", end="\n" if index + 1 == episodes else "", file=sys.stderr, flush=True)
        elif time.monotonic() - said_s >= LINE_EVERY_S:
            said_s = time.monotonic()
            print(text, file=sys.stderr, flush=True)
        if films and index + 1 == episodes:
            print("filming the first episodes, a minute of play at most", file=sys.stderr, flush=True)

    return show
