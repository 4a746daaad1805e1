"""Give a running training more or fewer workers.

  parcade scale --n-workers 4                       the newest run in results/
  parcade scale results/lantern/20261115-120000 --n-workers 1
  parcade scale RUN --n-workers auto                follow the machine from now on

The training moves its games between two updates. This changes no number of the training, only its times.
docs/tune.md explains when more workers help.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import UsageError, whole_number

if TYPE_CHECKING:
    from parcade.run.scale_order import ScaleAnswer, ScaleOrder

GLANCE_S = 0.1


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the run and what it is given."""
    parser.add_argument("run_dir", metavar="RUN", nargs="?", help="the run's folder [the newest in --log-root]")
    parser.add_argument("--log-root", metavar="TEXT", help="folder for all runs [results]")
    parser.add_argument(
        "--n-workers", metavar="N", help="worker processes; 0 runs all games in the trainer; auto follows the machine"
    )
    parser.add_argument("--num-threads", type=whole_number, metavar="N", help="refused: see docs/tune.md")
    parser.add_argument(
        "--wait", type=float, default=600.0, metavar="S", help="seconds to wait until the training has moved [600]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Leave the order, and wait for what came of it."""
    from parcade.cli.run_folder import named_or_newest
    from parcade.run.directory import RunFolder
    from parcade.run.scale_order import ask, new_order

    n_workers = _wanted(arguments)
    folder = RunFolder.open(named_or_newest(arguments.run_dir, arguments.log_root))
    _check_running(folder)
    order = new_order(n_workers)
    try:
        ask(folder.path, order)
    except OSError as error:
        raise UsageError(f"the order cannot be written to {folder.path}: {error.strerror}") from None
    print("the training moves its games after the update that it computes now", file=sys.stderr, flush=True)
    told = _answer(folder, order, arguments.wait)
    if n_workers != told.n_workers and isinstance(n_workers, int) and told.done:
        print(f"{told.n_workers} of {n_workers} workers; more workers than games would be idle", file=sys.stderr)
    if not told.done:
        raise UsageError(f"the training goes on with {told.n_workers} workers: {told.words}")
    if arguments.json:
        line = {"run_dir": str(folder.path), "n_workers": told.n_workers, "seconds": told.seconds, "words": told.words}
        print(json.dumps(line))
    else:
        print(f"{told.words}, {told.seconds:.1f} s")
    return 0


def _wanted(arguments: argparse.Namespace) -> Any:
    from parcade.run.scale_order import AUTO, MOST_WORKERS

    if arguments.num_threads is not None:
        raise UsageError(
            "the threads of a running training cannot change: the last bits of its sums depend on their number, so its "
            "numbers would be others; give --n-workers only"
        )
    if arguments.n_workers is None:
        raise UsageError("scale needs --n-workers N, or --n-workers auto")
    if arguments.n_workers == AUTO:
        return AUTO
    try:
        n_workers = whole_number(arguments.n_workers)
    except argparse.ArgumentTypeError:
        n_workers = -1
    if not 0 <= n_workers <= MOST_WORKERS:
        raise UsageError(f"--n-workers is {arguments.n_workers[:100]!r}, wanted 0 to {MOST_WORKERS}, or auto")
    if not arguments.wait > 0:
        raise UsageError(f"--wait is {arguments.wait:g}, wanted seconds above 0")
    return n_workers


def _check_running(folder: Any) -> None:
    """Refuse a run that nobody trains, or that another machine does."""
    from parcade.run.live import read_live
    from parcade.run.lock import is_locked

    try:
        live = read_live(folder.path)
    except ValueError as error:
        raise UsageError(str(error)) from None
    host = None if live is None else live.get("host")
    if host is not None and host != platform.node():
        raise UsageError(f"{folder.path} is trained on {str(host)[:100]}; scale it there")
    if not is_locked(folder.lock):
        what = "is finished" if folder.summary.exists() else "is not being trained"
        raise UsageError(
            f"{folder.path} {what}; `parcade resume {folder.path} --n-workers N` goes on with other workers"
        )
    if live is None:
        raise UsageError(f"the training in {folder.path} is just starting or ending; try again in a moment")


def _answer(folder: Any, order: ScaleOrder, wait_s: float) -> ScaleAnswer:
    """Wait for the answer as long as the training runs."""
    from parcade.run.lock import is_locked
    from parcade.run.scale_order import read_answer, withdraw

    until_s = time.monotonic() + wait_s
    while True:
        runs = is_locked(folder.lock)
        told = read_answer(folder.path, order)
        if told is not None:
            return told
        if not runs:
            withdraw(folder.path)
            raise UsageError(f"the training in {folder.path} ended before it could move its games")
        if time.monotonic() > until_s:
            raise UsageError(f"the training has not moved within {wait_s:g} s; it still will, after its present update")
        time.sleep(GLANCE_S)
