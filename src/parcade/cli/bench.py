"""Measure speed on this machine, against its own limit and against other libraries, in one run.

  parcade bench env                          games alone: the pool beside the limit and beside peers
  parcade bench env --observation features   the same with nothing drawn
  parcade bench train                        with learning: Parcade beside SB3's PPO
  parcade bench train --to-success           wall time until Lantern is learned
  parcade bench learn                        scores after training, beside SB3's PPO
  parcade bench soak --minutes 10            kill workers; every number must stay the same
  parcade bench soak --game meadow --no-kills --n-workers 1,2,4   no crash, no leak, equal numbers
  parcade bench busy                         a Game Boy Advance game whose CPU never halts
  parcade bench racing --fidelity            CarRacing: speed and fidelity
  parcade bench guide                        the cost of a guide: the same training without and with it
  parcade bench scale                        take a core away from a training and give it back
  parcade bench cluster                      a Ray cluster: same bits, two nodes beside one, nodes killed (--kills)
  parcade bench view                         the cost of the live page: without a client, with one client
  parcade bench fuzz --minutes 5             damaged files and settings: one sentence each, no traceback, no hang

Contenders run in interleaved rounds, and the table shows medians. A busy machine slows all of them, so compare the
ratios, not the rates. docs/bench.md explains each figure.
"""

from __future__ import annotations

import argparse
import json
from types import ModuleType

from parcade.cli import (
    bench_busy,
    bench_cluster,
    bench_env,
    bench_fuzz,
    bench_guide,
    bench_learn,
    bench_racing,
    bench_scale,
    bench_soak,
    bench_train,
    bench_view,
)

# Each module has `add_flags`, `measure` (returns the result) and `show` (returns what to print of it).
BENCHES: dict[str, tuple[str, ModuleType]] = {
    "env": ("games alone: the pool beside the machine's limit and beside peers", bench_env),
    "train": ("with learning: Parcade beside SB3's PPO and the limits", bench_train),
    "learn": ("how well it learns, beside SB3's PPO", bench_learn),
    "soak": ("kill workers; every number must stay the same", bench_soak),
    "busy": ("a Game Boy Advance game whose CPU never halts", bench_busy),
    "racing": ("CarRacing beside Gymnasium's and EnvPool's", bench_racing),
    "guide": ("what a guide costs a training", bench_guide),
    "scale": ("what following the machine brings when a core is taken away", bench_scale),
    "cluster": ("what a Ray cluster costs and brings, and whether its numbers are the same", bench_cluster),
    "view": ("what the live page costs a training", bench_view),
    "fuzz": ("wrong files and settings: one sentence each", bench_fuzz),
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a sub-verb for every bench."""
    benches = parser.add_subparsers(metavar="WHAT", title="what to measure")
    for name, (text, bench) in BENCHES.items():
        prog = f"parcade bench {name}"
        described = f"{text[0].upper()}{text[1:]}."
        one = benches.add_parser(name, help=text, description=described, prog=prog, usage=f"{prog} [flags]")
        bench.add_flags(one)
        one.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one line of JSON at the end"
        )
        one.set_defaults(bench=bench, parser=one)


def run(arguments: argparse.Namespace) -> int:
    """Run one bench; its table goes to stdout, with --json to stderr, so that stdout holds one JSON line only."""
    if not hasattr(arguments, "bench"):
        arguments.parser.print_help()
        return 0
    from rich.console import Console

    result = arguments.bench.measure(arguments)
    console = Console(stderr=arguments.json, highlight=False)
    for part in arguments.bench.show(result):
        console.print(part)
    if arguments.json:
        print(json.dumps(result))
    return 0 if result.get("passed", True) else 1
