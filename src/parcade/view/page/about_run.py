"""What a run's files tell of it: a card for the list, everything for its own view, lines of single slots."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from parcade.errors import RunError
from parcade.host.cores import usable_cores
from parcade.pool.mapped import is_held
from parcade.run.live import read_live
from parcade.run.lock import is_locked
from parcade.view.page.columns import parsed
from parcade.view.page.runs import RunPlace, listed_files, read_json, tail

_LAST = 4096  # bytes at the end of metrics.jsonl that hold its last row, almost always
_MOST_SLOTS, _MOST_POINTS = 64, 400
_DEATH = re.compile(r"^\S+ \S+ WARNING (worker \d+ \(slots .*)$")


def run_card(run: RunPlace) -> dict[str, Any]:
    """Return what the list of runs shows; a damaged run says so and stays in the list."""
    live = is_live(run.path)
    card: dict[str, Any] = {"name": run.name, "started": run.path.name, "is_live": live}
    card["is_opening"] = not live and is_opening(run.path)
    try:
        config, summary = read_json(run.path / "config.json"), read_json(run.path / "summary.json")
    except RunError as error:
        return {**card, "problem": str(error)}
    last = last_row(run.path)
    return {
        **card,
        "game": config.get("game") or config.get("env_id") or config.get("env_factory"),
        "total_timesteps": config.get("total_timesteps"),
        "env_steps": last.get("env_steps", 0),
        "seconds": (last.get("time") or {}).get("seconds"),
        "return_mean": last.get("return_mean"),
        "success_rate": last.get("success_rate"),
        "is_finished": bool(summary) and not summary.get("interrupted", False),
    }


def is_live(run: Path) -> bool:
    """Whether a training runs in this folder now."""
    try:
        live = read_live(run)
        return live is not None and is_held(str(live["told"]["path"]))
    except (ValueError, LookupError, TypeError):
        return False


def is_opening(run: Path) -> bool:
    """Whether a process holds the run without showing it yet: its games are being started."""
    return is_locked(run / "logs" / "lock")


def last_row(run: Path) -> dict[str, Any]:
    """Return the last row of an update in metrics.jsonl."""
    for line in reversed(tail(run / "metrics.jsonl", _LAST).splitlines()):
        row = parsed(line.encode())
        if row is not None and "return_mean" in row:
            return row
    return {}


def run_facts(run: RunPlace) -> dict[str, Any]:
    """Return everything but the curves: settings, versions, results, files, deaths in words, the machine."""
    log = tail(run.path / "logs" / "train.log", 256 << 10)
    return {
        "name": run.name,
        "is_live": is_live(run.path),
        "config": read_json(run.path / "config.json"),
        "manifest": read_json(run.path / "manifest.json"),
        "summary": read_json(run.path / "summary.json"),
        "last": last_row(run.path),
        "deaths": [found.group(1) for line in log.splitlines() if (found := _DEATH.match(line))][-50:],
        "files": {folder: listed_files(run.path, folder) for folder in ("checkpoints", "models", "videos")},
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    """Return what the machine has and how busy it is now."""
    page, load = os.sysconf("SC_PAGE_SIZE"), os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cores": usable_cores(),
        "load": None if load is None else round(load, 2),
        "memory": page * os.sysconf("SC_PHYS_PAGES"),
        "memory_free": _available(),
    }


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), None)


def slot_lines(run: RunPlace, wanted: str) -> dict[str, Any]:
    """Return the returns of some slots' episodes over env steps, thinned; ``wanted`` is such as ``0,3,5``."""
    slots = [int(word) for word in wanted.split(",") if word.isdecimal() and len(word) < 6][:_MOST_SLOTS]
    return {"slots": {str(slot): _line(run.path / "monitor" / f"env_{slot}.csv") for slot in slots}}


def _line(path: Path) -> list[list[float]]:
    points = []
    for row in tail(path, 512 << 10).splitlines():
        parts = row.split(",")
        try:
            points.append([float(parts[2]), float(parts[0])])
        except (ValueError, IndexError):
            continue
    step = max(1, -(-len(points) // _MOST_POINTS))
    return [
        [
            points[min(first + step, len(points)) - 1][0],
            sum(y for _, y in points[first : first + step]) / len(points[first : first + step]),
        ]
        for first in range(0, len(points), step)
    ]
