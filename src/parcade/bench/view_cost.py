"""What the live page costs a training: without it, with nobody looking, and with one client that takes every game.

Three states take turns in one run, so that a busy machine slows all alike. Without the page, workers run without the
code that serves viewers; with it, a server runs in a process of its own, and the client in another.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from parcade.bench.interleave import median_ratio
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.train_speed import LEARNING_RATE, NO_EXTRAS
from parcade.bench.turns import TrainingTurns
from parcade.config.settings import TrainSettings, make_settings
from parcade.errors import SettingsError
from parcade.pool import fragment
from parcade.run.directory import RunFolder
from parcade.view.page.launch import served

STATES = ("no page", "no client", "one client")


class _NotShowing:
    """In the place of ``Showing``: a worker as it would be without viewers."""

    n_requests = (-1,)
    placed: tuple[Any, ...] = ()

    def __init__(self, *_: Any) -> None:
        pass

    def adopt(self, runners: Any) -> None:
        """Do nothing."""

    def is_watched(self) -> bool:
        return False

    def tile(self, runners: Any) -> _NotShowing:
        return self


class Looking:
    """The client's process, on while somebody is to look."""

    def __init__(self, address: str, stack: ExitStack) -> None:
        command = [sys.executable, "-m", "parcade.bench.view_client", address]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self._process.wait)
        stack.callback(self._process.stdin.close)  # type: ignore[union-attr]
        self.came: list[dict[str, int]] = []

    def _say(self, word: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    @contextmanager
    def looks(self, word: str = "on") -> Iterator[None]:
        """Look at all games."""
        if not self._say(word):
            raise SettingsError("the client of the page could not connect")
        try:
            yield
        finally:
            self.came.append(json.loads(self._say("off")))


def bench_view(
    *, rounds: int = 20, seconds: float = 3.0, n_envs: int = 64, say: Say = tell_stderr, **given: Any
) -> dict[str, Any]:
    """Measure; the keys stand in docs/bench.md."""
    if rounds < 1:
        raise SettingsError(f"--rounds is {rounds}, wanted 1 or more")
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = view_settings(n_envs, str(root), given)
        with _without_showing():
            plain = TrainingTurns(settings, RunFolder.create(str(root), "plain"), stack)
        watched_folder = RunFolder.create(str(root), "watched")
        watched = TrainingTurns(settings, watched_folder, stack)
        url = stack.enter_context(served(str(root), host="127.0.0.1", port=0))
        looking = Looking(socket_address(url, root, watched_folder), stack)
        rates = _interleave(plain, watched, looking, rounds, seconds, say)
    return _result(rates, looking, rounds, seconds, n_envs)


def socket_address(url: str, root: Path, folder: RunFolder) -> str:
    """Return where the websocket of a run is."""
    run = quote(folder.path.relative_to(root).as_posix())
    return f"ws://{urlsplit(url).netloc}/ws?run={run}"


def _interleave(
    plain: TrainingTurns, watched: TrainingTurns, looking: Looking, rounds: int, seconds: float, say: Say
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in STATES}
    for number in range(rounds + 1):
        order = STATES[number % 3 :] + STATES[: number % 3]  # who comes first changes
        for name in order:
            if name == "one client":
                with looking.looks():
                    rate = watched.turn(seconds)
            else:
                rate = (plain if name == "no page" else watched).turn(seconds)
            if number:  # the first round warms up
                rates[name].append(rate)
                say(f"round {number} of {rounds}  {name:<12} {rate:>9,.0f} steps/s")
    return rates


def _result(
    rates: dict[str, list[float]], looking: Looking, rounds: int, seconds: float, n_envs: int
) -> dict[str, Any]:
    came = looking.came[1:]
    return {
        "bench": "view",
        "no_client_loss": 1 - median_ratio(rates["no client"], rates["no page"]),
        "one_client_loss": 1 - median_ratio(rates["one client"], rates["no page"]),
        "steps_per_s": {name: statistics.median(values) for name, values in rates.items()},
        "client_messages_per_s": statistics.median(one["messages"] for one in came) / seconds,
        "client_bytes_per_s": statistics.median(one["bytes"] for one in came) / seconds,
        "rounds": rounds,
        "n_envs": n_envs,
        "machine": machine(),
    }


def view_settings(n_envs: int, root: str, given: dict[str, Any]) -> TrainSettings:
    """Return a training of Lantern with features, in which nothing is drawn but for viewers."""
    own = {"game": "lantern", "observation": "features", "n_envs": n_envs, "n_steps": 64, "batch_size": 256}
    # Workers are forked: a process that is forked has the classes that stand in their places at that moment.
    fixed = {"total_timesteps": 1 << 40, "learning_rate": LEARNING_RATE, "parallel_start_method": "fork"}
    return make_settings({**NO_EXTRAS, **own, **fixed, "log_root": root, **given})


@contextmanager
def _without_showing() -> Iterator[None]:
    name = "Showing"
    kept = getattr(fragment, name)
    setattr(fragment, name, _NotShowing)
    try:
        yield
    finally:
        setattr(fragment, name, kept)
