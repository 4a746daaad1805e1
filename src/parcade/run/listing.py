"""Runs as a list: what each is, how far it is, and how much room it takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.errors import RunError, SettingsError
from parcade.host.input_file import parse_json, read_input
from parcade.run.directory import RunFolder
from parcade.run.lock import held, is_locked
from parcade.run.metrics import read_rows

DEEPEST = 4  # folders between a log root and a run
_LARGEST = 4 << 20
_TAIL = 1 << 16  # bytes at the end of metrics.jsonl that hold its last row


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run, as its files tell it."""

    path: Path
    settings: dict[str, Any]
    state: str  # running, finished, stopped (can be resumed) or empty
    started: str
    env_steps: int
    score: float | None  # of the final evaluation, else over the last training episodes
    success_rate: float | None
    seconds: float
    n_bytes: int

    @property
    def env(self) -> str:
        """The title or the Gymnasium id."""
        return str(self.settings.get("game") or self.settings.get("env_id") or self.settings.get("env_factory") or "–")

    def field(self, name: str) -> Any:
        """Return a column of the list, or a setting; None where there is none."""
        own: dict[str, Any] = {
            "steps": self.env_steps,
            "return": self.score,
            "success": self.success_rate,
            "disk": self.n_bytes,
        }
        own |= {"state": self.state, "started": self.started, "env": self.env, "seconds": self.seconds}
        own |= {"path": str(self.path), "name": self.path.parent.name}
        return own[name] if name in own else self.settings.get(name)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        names = ("path", "state", "started", "env", "steps", "return", "success", "seconds")
        return {**{name: self.field(name) for name in names}, "seed": self.settings.get("seed"), "bytes": self.n_bytes}


def find_runs(below: Path) -> Iterator[Path]:
    """Yield every run's folder at or below a folder, in the order of their paths; links are not followed."""
    if (below / "config.json").is_file() and (below / "manifest.json").is_file():
        yield below
        return
    yield from _search(below, DEEPEST)


def _search(folder: Path, depth: int) -> Iterator[Path]:
    try:
        parts = sorted(part for part in folder.iterdir() if part.is_dir() and not part.is_symlink())
    except OSError:
        return
    for part in parts:
        if (part / "config.json").is_file() and (part / "manifest.json").is_file():
            yield part
        elif depth > 1:
            yield from _search(part, depth - 1)


def read_run(path: Path) -> RunInfo:
    """Return what a run's files tell; a file that is missing or damaged tells nothing."""
    folder = RunFolder(path)
    settings, summary, manifest = (_json(file) for file in (folder.config, folder.summary, folder.manifest))
    last = last_row(folder.metrics)
    evaluation = summary.get("evaluation") or {}
    steps = max(_number(summary.get("env_steps")) or 0, _number(last.get("env_steps")) or 0)
    score = _number(evaluation.get("return_mean"))
    return RunInfo(
        path=path,
        settings=settings,
        state=_state(folder, summary, steps),
        started=str(manifest.get("started") or ""),
        env_steps=int(steps),
        score=_number(last.get("return_mean")) if score is None else score,
        success_rate=_number(summary.get("success_rate") if summary else last.get("success_rate")),
        seconds=_number((last.get("time") or {}).get("seconds")) or 0.0,
        n_bytes=disk_bytes(path),
    )


def _state(folder: RunFolder, summary: dict[str, Any], steps: float) -> str:
    if is_locked(folder.lock):
        return "running"
    if summary and not summary.get("interrupted"):
        return "finished"
    return "stopped" if steps else "empty"


def last_row(metrics: Path) -> dict[str, Any]:
    """Return the last row of an update; empty where there is none."""
    try:
        with open(metrics, "rb") as file:
            file.seek(max(0, metrics.stat().st_size - _TAIL))
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            row = parse_json(line)
        except ValueError:
            continue
        if isinstance(row, dict) and not row.get("final"):
            return row
    return {}


def disk_bytes(path: Path) -> int:
    """Return what a folder takes on the disk; a file that vanishes meanwhile counts nothing."""
    total = 0
    for place, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(Path(place, name)).st_blocks * 512
            except OSError:
                continue
    return total


def delete_run(path: Path) -> None:
    """Delete a run's folder, and the folder of its name if that is empty; one that is being trained is refused."""
    if path.is_symlink() or not ((path / "config.json").is_file() and (path / "manifest.json").is_file()):
        raise SettingsError(f"{path} is not a run's folder; nothing was deleted")
    if is_locked(RunFolder(path).lock):
        raise RunError(f"{path} is being trained; nothing of it was deleted")
    try:
        with held(RunFolder(path).lock):  # nobody resumes it meanwhile
            (path / "config.json").unlink()  # a folder that is half gone is no run any more
            shutil.rmtree(path)
    except OSError as error:
        raise RunError(f"{path} could not be deleted: {error.strerror}") from None
    try:
        path.parent.rmdir()
    except OSError:
        pass  # it holds other runs


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return all rows of a run's metrics."""
    try:
        return list(read_rows(RunFolder(path).metrics))
    except OSError:
        return []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _json(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_input(path, _LARGEST))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
