"""Measure speed on this machine, against its own limit and against other libraries, in one run.

  parcade bench env                          games alone: the pool beside the limit and beside peers
  parcade bench env --observation features   the same with nothing drawn
  parcade bench train                        with learning: ours beside SB3's PPO
  parcade bench train --to-success           wall time until Lantern is learned
  parcade bench learn                        does it learn, and as well as SB3's PPO?
  parcade bench soak --minutes 10            workers killed all along; every number must stay the same
  parcade bench soak --game meadow --no-kills --n-workers 1,2,4   no crash, no leak, equal numbers
  parcade bench busy                         a Game Boy Advance whose CPU never halts, as commercial games have it
  parcade bench racing --fidelity            CarRacing: speed, and how near its pictures are

Contestants take turns, several rounds of them, and medians are told: a busy machine slows all alike, so read the
ratios before the rates. docs/bench.md says what each figure means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcade.cli.bench_learn import bench_learn, learn_flags, show_learn
from parcade.cli.flags import UsageError, whole_number
from parcade.settings import words

Flags = Callable[[argparse.ArgumentParser], None]
Bench = Callable[[argparse.Namespace], dict[str, Any]]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a sub-verb for every bench."""
    benches = parser.add_subparsers(metavar="WHAT", title="what to measure")
    for name, (text, flags, bench, show) in BENCHES.items():
        prog = f"parcade bench {name}"
        described = f"{text[0].upper()}{text[1:]}."
        one = benches.add_parser(name, help=text, description=described, prog=prog, usage=f"{prog} [flags]")
        flags(one)
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="end with one JSON line")
        one.set_defaults(bench=bench, show=show, parser=one)


def run(arguments: argparse.Namespace) -> int:
    """Run one bench; its table goes to stdout, with --json to stderr, so that stdout holds one JSON line only."""
    if not hasattr(arguments, "bench"):
        arguments.parser.print_help()
        return 0
    from rich.console import Console

    result = arguments.bench(arguments)
    console = Console(stderr=arguments.json, highlight=False)
    for part in arguments.show(result):
        console.print(part)
    if arguments.json:
        print(json.dumps(result))
    return 0 if result.get("passed", True) else 1


def _env_flags(parser: argparse.ArgumentParser) -> None:
    _add_game(parser)
    parser.add_argument("--seconds", type=float, default=2.0, metavar="X", help="length of one turn [2]")
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each contestant [5]")
    parser.add_argument(
        "--n-envs", type=_counts, default=(2, 16, 64, 256), metavar="N,…", help="sizes of our pool [2,16,64,256]"
    )
    parser.add_argument("--n-workers", type=_counts, default=(), metavar="N,…", help="workers [one for each core]")
    parser.add_argument("--peer-envs", type=whole_number, default=16, metavar="N", help="envs of each peer [16]")
    parser.add_argument("--no-peers", action="store_false", dest="peers", help="leave the other libraries out")
    parser.add_argument(
        "--limit-consoles", type=whole_number, default=1, metavar="N", help="consoles of each bare process [1]"
    )
    parser.add_argument("--plot", metavar="FILE", help="also draw a PNG")


def _bench_env(arguments: argparse.Namespace) -> dict[str, Any]:
    from parcade.tune.bench_env import bench_env, draw_plot

    if arguments.plot:
        _check_folder(arguments.plot)
    result = bench_env(
        arguments.game,
        observation=arguments.observation,
        seconds=arguments.seconds,
        rounds=arguments.rounds,
        n_envs=arguments.n_envs,
        n_workers=arguments.n_workers,
        peer_envs=arguments.peer_envs,
        peers=arguments.peers,
        limit_consoles=arguments.limit_consoles,
        rom=arguments.rom,
        state=arguments.state,
    )
    if arguments.plot:
        result["plot"] = draw_plot(result, arguments.plot)
    return result


def _show_env(result: dict[str, Any]) -> list[Any]:
    title = (
        f"{result['game']}, {result['observation']}: medians of {result['rounds']} rounds of {result['seconds']:g} s"
    )
    against = "undrawn limit" if result["of_limit_is_against"].startswith("limit_undrawn") else "limit"
    table = _table(title, "", "envs", "workers", "steps/s", f"of the {against}", "MB per further env")
    table.add_row("limit, last frame drawn", "", "", f"{result['limit_steps_per_s']:,.0f}", "", "")
    table.add_row("limit, nothing drawn", "", "", f"{result['limit_undrawn_steps_per_s']:,.0f}", "", "")
    table.add_row("limit, none ahead of the slowest", "", "", f"{result['limit_in_step_steps_per_s']:,.0f}", "", "")
    for row in result["pool"]:
        mb = "" if row["mb_per_env"] is None else f"{row['mb_per_env']:.2f}"
        counts = (str(row["n_envs"]), str(row["n_workers"]))
        table.add_row("parcade pool", *counts, f"{row['steps_per_s']:,.0f}", f"{row['of_limit']:.2f}", mb)
        alone = f"{row['stretch_steps_per_s']:,.0f}", f"{row['stretch_of_limit']:.2f}"
        table.add_row("  playing by itself", *counts, *alone, "")
    for row in result["peers"]:
        table.add_row(row["name"], str(row["n_envs"]), "", f"{row['steps_per_s']:,.0f}", "", "")
    lines = [
        f"over the best peer: {_times(result['over_best_peer'])}, "
        f"over the best multi-process peer: {_times(result['over_best_multiprocess_peer'])}",
        result["machine"],
    ]
    return [table, *lines, *([f"plot: {result['plot']}"] if "plot" in result else [])]


def _train_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cases", type=words, default=(), metavar="NAME,…", help="nature-cnn, small-cnn, features-mlp [all]"
    )
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each contestant [5]")
    parser.add_argument("--to-success", action="store_true", help="time until Lantern is learned, instead of speed")
    parser.add_argument("--minutes", type=float, default=20.0, metavar="X", help="with --to-success: for each [20]")
    parser.add_argument(
        "--observation", choices=["features", "pixels"], default="features", help="with --to-success [features]"
    )


def _bench_train(arguments: argparse.Namespace) -> dict[str, Any]:
    from parcade.tune.bench_train import CASES, bench_to_success, bench_train

    if arguments.to_success:
        return bench_to_success(minutes=arguments.minutes, observation=arguments.observation)
    return bench_train(arguments.cases or tuple(CASES), rounds=arguments.rounds)


def _show_train(result: dict[str, Any]) -> list[Any]:
    if "to_success" in result:
        return _show_success(result)
    heads = ("case", "steps/s", "peers", "over the best", "the limit over it", "of the limit", "learning of its limit")
    table = _table("with learning", *heads)
    for case in result["cases"]:
        peers = "\n".join(f"{peer['name']} {peer['steps_per_s']:,.0f}" for peer in case["peers"])
        ratios = (_times(case["over_best_peer"]), _times(case["limit_over_best_peer"]))
        parts = (f"{case['of_limit']:.2f}", f"{case['learn_of_limit']:.2f}")
        table.add_row(case["case"], f"{case['steps_per_s']:,.0f}", peers, *ratios, *parts)
    return [table, result["machine"]]


def _show_success(result: dict[str, Any]) -> list[Any]:
    table = _table(f"Lantern until success {result['to_success']:g}", "", "seconds", "env steps", "success", "reached")
    for name in ("ours", "sb3"):
        row = result[name]
        if row is not None:
            success = f"{row['success_rate'] or 0:.2f}"
            cells = (f"{row['seconds']:,.0f}", f"{row['env_steps']:,}", success, "yes" if row["reached"] else "no")
            table.add_row(row.get("name", "parcade train"), *cells)
    bound = "at least " if result["times_shorter_is_lower_bound"] else ""
    return [table, f"{bound}{_times(result['times_shorter'])} shorter", result["machine"]]


def _soak_flags(parser: argparse.ArgumentParser) -> None:
    _add_game(parser)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="X", help="how long [10]")
    parser.add_argument("--n-envs", type=whole_number, default=64, metavar="N", help="envs of each pool [64]")
    parser.add_argument(
        "--n-workers",
        type=_worker_counts,
        default=(),
        metavar="N,…",
        help="workers [one for each core]; with --no-kills several, one after the other, and 0 for no processes",
    )
    parser.add_argument("--no-kills", action="store_false", dest="kills", help="only run: no worker may die by itself")
    parser.add_argument(
        "--steps", type=whole_number, metavar="N", help="stop after so many env steps, if that is first"
    )
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of actions, episodes and kills [0]")


def _bench_soak(arguments: argparse.Namespace) -> dict[str, Any]:
    from parcade.tune.endurance import endure
    from parcade.tune.soak import soak

    options = {
        "minutes": arguments.minutes,
        "n_envs": arguments.n_envs,
        "observation": arguments.observation,
        "max_env_steps": arguments.steps,
        "seed": arguments.seed,
        "rom": arguments.rom,
        "state": arguments.state,
    }
    counts = arguments.n_workers
    if not arguments.kills:
        return endure(arguments.game, n_workers=counts, **options)
    if counts and (len(counts) > 1 or counts[0] < 1):
        raise UsageError("with kills --n-workers takes one number above 0; --no-kills compares several")
    return soak(arguments.game, n_workers=counts[0] if counts else None, **options)


def _show_soak(result: dict[str, Any]) -> list[Any]:
    if not result["kills"]:
        return _show_endurance(result)
    table = _table(f"{result['game']}: {result['n_envs']} envs for {result['seconds']:.0f} s", "", "", "")
    kinds = ", ".join(f"{count} {kind}" for kind, count in result["deaths_by_kind"].items())
    steps = f"{result['env_steps']:,}"
    rows = [
        ("env steps in each pool", steps, ""),
        ("saved inside the game", "–" if result["saves"] is None else f"{result['saves']:,}", ""),
        ("deaths survived", f"{result['deaths']}", kinds),
        ("checksum", result["checksum"], "equal" if result["checksums_equal"] else "NOT EQUAL"),
        ("undisturbed", result["checksum_undisturbed"], f"{result['deaths_undisturbed_pool']} deaths"),
        ("RSS of this process", f"{result['rss_start_mb']:.0f} -> {result['rss_end_mb']:.0f} MB", ""),
        ("RSS of living workers", f"{result['workers_start_mb']:.0f} -> {result['workers_end_mb']:.0f} MB", ""),
        ("file descriptors", f"{result['fds_start']} -> {result['fds_end']}", ""),
        ("left behind", f"{result['orphans']} processes", f"{result['slabs_left']} slabs"),
    ]
    for row in rows:
        table.add_row(*row)
    return [table, "passed" if result["passed"] else "FAILED", result["machine"]]


def _show_endurance(result: dict[str, Any]) -> list[Any]:
    title = f"{result['game']}, {result['observation']}: {result['n_envs']} envs"
    columns = ("workers", "env steps", "episodes", "saves", "deaths", "checksum", "steps/s", "RSS of all")
    table = _table(title, *columns)
    for run in result["runs"]:
        saves = "–" if run["saves"] is None else f"{run['saves']:,}"
        counts = (str(run["n_workers"]), f"{run['env_steps']:,}", f"{run['episodes']:,}", saves, str(run["deaths"]))
        memory = f"{run['start_mb']:.0f} -> {run['end_mb']:.0f} MB"
        table.add_row(*counts, run["checksum"], f"{run['steps_per_s']:,.0f}", memory)
    compared = ["checksums equal" if result["checksums_equal"] else "checksums NOT EQUAL"]
    verdict = "passed" if result["passed"] else "FAILED"
    return [table, *(compared if len(result["runs"]) > 1 else []), verdict, result["machine"]]


def _busy_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=3.0, metavar="X", help="length of one turn [3]")
    parser.add_argument("--rounds", type=whole_number, default=5, metavar="N", help="turns of each [5]")
    parser.add_argument("--n-envs", type=whole_number, default=16, metavar="N", help="games of the pool [16]")


def _bench_busy(arguments: argparse.Namespace) -> dict[str, Any]:
    from parcade.tune.bench_busy import bench_busy

    return bench_busy(seconds=arguments.seconds, rounds=arguments.rounds, n_envs=arguments.n_envs)


def _show_busy(result: dict[str, Any]) -> list[Any]:
    low, high = result["users_steps_per_s"]
    title = f"a Game Boy Advance that never halts, {result['frame_skip']} frames a step, the last one drawn"
    table = _table(title, "", "steps/s", "per core", f"over {low:g}–{high:g}")
    cores = result["n_cores"]
    rows = [
        ("one console on one core", result["one_console_steps_per_s"], 1),
        (f"{result['n_envs']} consoles on {cores} cores", result["all_cores_steps_per_s"], cores),
        (f"pool of {result['n_envs']} games, {cores} workers", result["pool_steps_per_s"], cores),
    ]
    for name, rate, used in rows:
        table.add_row(name, f"{rate:,.0f}", f"{rate / used:,.0f}", f"{rate / high:.1f}–{rate / low:.1f} ×")
    return [table, result["machine"]]


def _racing_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=30.0, metavar="X", help="of the speed measurement [30]")
    parser.add_argument("--fidelity", action="store_true", help="also compare pictures, rewards and car states")
    parser.add_argument("--out", metavar="FOLDER", help="with --fidelity: a PNG of the least similar frames goes here")
    parser.add_argument(
        "--resets", type=whole_number, default=0, metavar="N", help="also tell the memory that N resets keep, e.g. 2000"
    )


def _bench_racing(arguments: argparse.Namespace) -> dict[str, Any]:
    from parcade.errors import MissingExtraError
    from parcade.tune.contest import machine, tell_stderr

    try:
        import Box2D  # noqa: F401
        import pygame  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"bench racing needs {error.name}, which is not installed; pip install 'parcade[racing]' brings it"
        ) from None
    from parcade.tune.bench_racing import bench_racing

    tell_stderr(f"measuring for about {arguments.seconds:g} s{', then comparing' if arguments.fidelity else ''}")
    result = bench_racing(arguments.seconds, arguments.fidelity, arguments.out, arguments.resets)
    return {"bench": "racing", **result, "machine": machine()}


def _show_racing(result: dict[str, Any]) -> list[Any]:
    table = _table(f"CarRacing, one thread, {result['frame_skip']} steps per decision", "", "steps/s", "ours is")
    table.add_row("ours", f"{result['fast_steps_per_s']:,.0f}", "")
    table.add_row("Gymnasium", f"{result['official_steps_per_s']:,.0f}", _times(result["over_official"]))
    if result["envpool_steps_per_s"]:
        table.add_row("EnvPool", f"{result['envpool_steps_per_s']:,.0f}", _times(result["over_envpool"]))
    lines = [result["machine"]]
    if "mean_abs_pixel_difference" in result:
        same = "identical" if result["rewards_identical"] and result["state_identical"] else "NOT identical"
        mean, frames = result["mean_abs_pixel_difference"], result["n_frames_compared"]
        lines.insert(
            0, f"mean pixel difference {mean:.2f} of 255 over {frames:,} frames; rewards and car states {same}"
        )
    if "resets" in result:
        ours, theirs = (
            f"{result[f'{env}_mb_before_resets']:.1f} to {result[f'{env}_mb_after_resets']:.1f} MB"
            for env in ("fast", "official")
        )
        lines.insert(0, f"memory over {result['resets']:,} resets: ours {ours}, Gymnasium's {theirs}")
    return [table, *lines]


BENCHES: dict[str, tuple[str, Flags, Bench, Callable[[dict[str, Any]], list[Any]]]] = {
    "env": ("games alone: the pool beside the machine's limit and beside peers", _env_flags, _bench_env, _show_env),
    "train": ("with learning: ours beside SB3's PPO, and beside the limits", _train_flags, _bench_train, _show_train),
    "learn": ("how well it learns, beside SB3's PPO", learn_flags, bench_learn, show_learn),
    "soak": ("workers killed all along; every number must stay the same", _soak_flags, _bench_soak, _show_soak),
    "busy": ("a Game Boy Advance game whose CPU never halts", _busy_flags, _bench_busy, _show_busy),
    "racing": ("CarRacing beside Gymnasium's and EnvPool's", _racing_flags, _bench_racing, _show_racing),
}


def _add_game(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--game", default="lantern", metavar="NAME", help="a title [lantern]")
    parser.add_argument("--rom", metavar="FILE", help="the ROM, for titles that need your own cartridge")
    parser.add_argument("--state", metavar="FILE", help="a save state to start episodes from")
    parser.add_argument(
        "--observation", choices=["pixels", "features", "both"], default="pixels", help="what the envs show [pixels]"
    )


def _table(title: str, *columns: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _counts(text: str) -> tuple[int, ...]:
    numbers = tuple(whole_number(part) for part in words(text))
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0")
    return numbers


def _worker_counts(text: str) -> tuple[int, ...]:
    numbers = tuple(whole_number(part) for part in words(text))
    if not numbers or min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, 0 or more each")
    return numbers


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f} ×"


def _check_folder(path: str) -> None:
    if not Path(path).parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist")


__all__ = ["BENCHES", "add_flags", "run"]
