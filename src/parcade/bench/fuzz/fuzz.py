"""Runs cases of all kinds in turn until the time is over; counts them and keeps what broke."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from parcade.bench.fuzz.kinds import KINDS, Case
from parcade.bench.fuzz.material import Material, make_material
from parcade.bench.fuzz.server import FuzzServer, Outcome, sentence_fault
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr

SAY_EVERY_S = 30.0


class Fuzzer:
    """A server, its material, and a folder for each case."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed, self._folder = seed, folder
        self.server = FuzzServer()
        try:
            whole = folder / "whole"
            whole.mkdir()
            self.material: Material = make_material(self.server, whole)
        except BaseException:
            self.server.close()
            raise

    def run(self, kind: str, number: int) -> tuple[Case, Outcome, Path]:
        """Run the case ``number`` of a kind; the same seed, kind and number are the same case."""
        folder = self._folder / "case"
        if folder.exists():
            _remove(folder)
        folder.mkdir()
        rng = np.random.default_rng([self.seed, list(KINDS).index(kind), number])
        case = KINDS[kind](rng, self.material, folder)
        return case, self.server.run(case.words, folder, case.deadline_s), folder


def _remove(folder: Path) -> None:
    """Remove a case's folder; a command may have taken away the right to."""
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o700)
    shutil.rmtree(folder)


@contextmanager
def open_fuzzer(seed: int) -> Iterator[Fuzzer]:
    """Give a fuzzer in a folder of its own, which goes with it."""
    with tempfile.TemporaryDirectory(prefix="parcade-fuzz-") as folder:
        fuzzer = Fuzzer(Path(folder), seed)
        try:
            yield fuzzer
        finally:
            fuzzer.server.close()


def bench_fuzz(
    *, minutes: float, seed: int = 0, kinds: Iterable[str] = (), keep: str | None = None, say: Say = tell_stderr
) -> dict[str, Any]:
    """Return how many cases of each kind were run, how many of them were refused, and every fault."""
    wanted = list(kinds) or list(KINDS)
    counts = {kind: {"cases": 0, "refused": 0, "faults": 0} for kind in wanted}
    faults: list[dict[str, Any]] = []
    with open_fuzzer(seed) as fuzzer:
        until_s, said_s, number = time.monotonic() + 60 * minutes, time.monotonic(), 0
        while time.monotonic() < until_s:
            for kind in wanted:
                case, outcome, folder = fuzzer.run(kind, number)
                found = _counted(counts[kind], outcome)
                if found is not None:
                    faults.append({"kind": kind, "number": number, **_told(case, outcome, found)})
                    say(f"{kind} {number}: {found}: {case.what} (parcade {' '.join(case.words)[:200]})")
                    _keep(folder, keep, f"{len(faults):03d}")
            number += 1
            if time.monotonic() - said_s > SAY_EVERY_S:
                said_s = time.monotonic()
                say(f"{sum(count['cases'] for count in counts.values()):,} cases, {len(faults)} faults")
    told = {"seed": seed, "minutes": minutes, "machine": machine(), "passed": not faults}
    return {**told, "kinds": counts, "cases": sum(count["cases"] for count in counts.values()), "faults": faults}


def _counted(count: dict[str, int], outcome: Outcome) -> str | None:
    """Count a case; return what was wrong with it."""
    found = sentence_fault(outcome)
    count["cases"] += 1
    count["refused"] += outcome.code in (1, 2)
    count["faults"] += found is not None
    return found


def _told(case: Case, outcome: Outcome, found: str) -> dict[str, Any]:
    words = {"fault": found, "what": case.what, "command": [word[:200] for word in case.words]}
    return {**words, "code": outcome.code, "seconds": round(outcome.seconds, 1), "stderr": outcome.told[-1_500:]}


def _keep(folder: Path, place: str | None, name: str) -> None:
    if place is not None:
        shutil.copytree(folder, Path(place, name), symlinks=True)
