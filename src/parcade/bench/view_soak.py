"""What the page's server takes with many games in view: its share of a core, and whether its memory grows.

One client takes the whole mosaic all the time. A second one comes and goes every few seconds, looks at the map and at
one game in detail, and asks for everything else that a page asks for.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.turns import TrainingTurns
from parcade.bench.view_cost import Looking, socket_address, view_settings
from parcade.errors import SettingsError
from parcade.run.directory import RunFolder
from parcade.view.page.launch import server

TURN_S = 4.0
WARM_UP = 0.2  # of the time, in which the server's memory fills; it counts from then on
_QUESTIONS = ("runs", "run", "metrics", "log", "episodes", "slots", "places", "map")


@dataclass(frozen=True)
class Sample:
    """What a process has taken by now."""

    at_s: float
    cpu_s: float
    private_mb: float

    @classmethod
    def of(cls, pid: int) -> Sample:
        """Look at a process; memory that it shares with the training is not its own."""
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        private_kb = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
        return cls(time.monotonic(), cpu_s, private_kb / 1024)


def soak_view(*, minutes: float, n_envs: int = 256, say: Say = tell_stderr, **given: Any) -> dict[str, Any]:
    """Watch the server; the keys stand in docs/bench.md."""
    if minutes <= 0 or n_envs < 1:
        raise SettingsError(f"--soak-minutes {minutes:g} and --soak-envs {n_envs} must be above 0")
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = RunFolder.create(str(root), "soaked")
        training = TrainingTurns(view_settings(n_envs, str(root), given), folder, stack)
        url, pid = stack.enter_context(server(str(root), host="127.0.0.1", port=0))
        address = socket_address(url, root, folder)
        resident, visitor = Looking(address, stack), Looking(address, stack)
        with resident.looks():
            samples = _soak(training, visitor, pid, minutes, say, _page_of(url, root, folder))
        pictures = resident.came[-1]["messages"]
    return _result(samples, pictures, len(visitor.came), minutes, n_envs)


def _soak(
    training: TrainingTurns, visitor: Looking, pid: int, minutes: float, say: Say, page: dict[str, str]
) -> list[Sample]:
    samples, until_s, told_s = [Sample.of(pid)], time.monotonic() + 60 * minutes, 0.0
    while time.monotonic() < until_s:
        with visitor.looks("on map"):
            training.turn(TURN_S)
            for address in page.values():
                with urllib.request.urlopen(address, timeout=60) as answer:
                    answer.read()
        samples.append(Sample.of(pid))
        if time.monotonic() - told_s > 30:
            told_s, newest = time.monotonic(), samples[-1]
            say(f"{(until_s - told_s) / 60:5.1f} minutes left  server {newest.private_mb:.1f} MB")
    return samples


def _page_of(url: str, root: Path, folder: RunFolder) -> dict[str, str]:
    asked = urlencode({"run": folder.path.relative_to(root).as_posix(), "slots": "0,1,2", "map": "floor 1"})
    return {name: f"{url}api/{name}?{asked}" for name in _QUESTIONS}


def _result(samples: list[Sample], pictures: int, visits: int, minutes: float, n_envs: int) -> dict[str, Any]:
    warm = samples[min(len(samples) - 2, int(WARM_UP * len(samples))) :]
    first, last, few = warm[0], warm[-1], max(1, len(warm) // 5)
    return {
        "server_cores": (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s),
        "server_mb_start": statistics.median(one.private_mb for one in warm[:few]),
        "server_mb_end": statistics.median(one.private_mb for one in warm[-few:]),
        "soak_pictures_per_s": pictures / (last.at_s - samples[0].at_s),
        "soak_visits": visits,
        "soak_minutes": minutes,
        "soak_n_envs": n_envs,
        "machine": machine(),
    }
