"""What following the machine brings: a core is taken away for a while and given back, again and again.

Two trainings with the same settings take turns, one that follows the machine and one that does not. A turn has three
parts: all cores, one of them shared with a busy process, all cores again.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from parcade.bench.interleave import median_ratio
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.turns import TrainingTurns
from parcade.config.settings import make_settings
from parcade.errors import SettingsError
from parcade.host.core_use import allowed_cores
from parcade.run.directory import RunFolder
from parcade.train.follow import can_follow

PARTS = ("free", "taken", "given back")
NO_EXTRAS: dict[str, Any] = {"eval_freq": 0, "final_eval_episodes": 0, "save_freq": 0, "video": False, "episodes_mb": 0}
LEARNING_RATE = 1e-12  # nobody gets better: the games of both stay alike


def bench_scale(*, seconds: float = 60.0, rounds: int = 3, n_envs: int = 32, say: Say = tell_stderr) -> dict[str, Any]:
    """Measure; the keys stand in docs/bench.md."""
    _check(seconds, rounds)
    rates: dict[str, dict[str, list[float]]] = {name: {part: [] for part in PARTS} for name in ("stays", "follows")}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        trainings = {
            name: TrainingTurns(_settings(folder, n_envs, follows), RunFolder.create(folder, name), stack)
            for name, follows in (("stays", False), ("follows", True))
        }
        for training in trainings.values():
            training.turn(1.0)
        for number in range(rounds):
            for name, training in trainings.items():
                for part, rate in _turn(training, seconds):
                    rates[name][part].append(rate)
                    say(f"round {number + 1} of {rounds}  {name:<8} {part:<11} {rate:>8,.0f} steps/s")
    gains = {part: median_ratio(rates["follows"][part], rates["stays"][part]) for part in PARTS}
    return {
        "bench": "scale",
        "gain_free": gains["free"],
        "gain_taken": gains["taken"],
        "gain_given_back": gains["given back"],
        "steps_per_s": {
            name: {part: statistics.median(found[part]) for part in PARTS} for name, found in rates.items()
        },
        "seconds": seconds,
        "rounds": rounds,
        "n_envs": n_envs,
        "machine": machine(),
    }


def _check(seconds: float, rounds: int) -> None:
    if not 1 <= seconds <= 3600:
        raise SettingsError(f"seconds is {seconds:g}, wanted 1 to 3600")
    if rounds < 1:
        raise SettingsError(f"rounds is {rounds}, wanted 1 or more")
    if len(allowed_cores()) < 2 or not can_follow():
        raise SettingsError("bench scale needs Linux and two cores: one of them is taken away")


def _settings(folder: str, n_envs: int, follows: bool) -> Any:
    given = {"game": "lantern", "n_envs": n_envs, "log_root": folder, "follow_machine": follows, **NO_EXTRAS}
    return make_settings({**given, "learning_rate": LEARNING_RATE, "total_timesteps": 1 << 40})


def _turn(training: TrainingTurns, seconds: float) -> Iterator[tuple[str, float]]:
    yield "free", training.turn(seconds)
    with busy_core(allowed_cores()[-1]):
        yield "taken", training.turn(seconds)
    yield "given back", training.turn(seconds)


@contextmanager
def busy_core(core: int) -> Iterator[None]:
    """Have a process use one core as much as it gets."""
    busy = subprocess.Popen([sys.executable, "-c", _BUSY, str(core), str(os.getpid())])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


# It ends with its parent, should that be killed.
_BUSY = """
import os, sys
core, parent = map(int, sys.argv[1:])
os.sched_setaffinity(0, {core})
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
