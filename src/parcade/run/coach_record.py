"""What a coach decided in a run, one JSON line each in coach.jsonl: by these the run repeats without a model."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcade.errors import SettingsError
from parcade.host.input_file import parse_json, read_input

log = logging.getLogger("parcade.run")
NAME = "coach.jsonl"
REVISED, UNCHANGED, LATE, FAILED, REFUSED = "revised", "unchanged", "late", "failed", "refused"
KEPT, ROLLED_BACK = "kept", "rolled back"
DECISIONS = (REVISED, UNCHANGED, LATE, FAILED, REFUSED)
_LARGEST = 64 << 20
_LARGEST_LINE = 1 << 20


class CoachRecord:
    """Lines are added, never changed: a run that goes back to a checkpoint decides the same again."""

    def __init__(self, run: Path, replayed: str | None = None) -> None:
        self._path = run / NAME
        self._lines = list(_lines(self._path)) if self._path.exists() else []
        if replayed is not None and not self._lines:
            self._lines = _decisions_of(Path(replayed))

    def decision(self, update: int) -> dict[str, Any] | None:
        """Return what was decided at an update before, in this run or in the one that is repeated."""
        return next((line for line in self._lines if line["update"] == update and line["what"] in DECISIONS), None)

    def latest(self, count: int) -> list[dict[str, Any]]:
        """Return the newest lines."""
        return self._lines[-count:]

    def add(self, line: Mapping[str, Any]) -> bool:
        """Write a line and have it on the disk; False: it could not be written, and nothing may follow from it."""
        same = [one for one in self._lines if one["update"] == line["update"] and one["what"] == line["what"]]
        if same and self._is_written(same[0]):
            return True
        data = json.dumps(line).encode() + b"\n"
        try:
            _append(self._path, data)
        except OSError as error:
            log.warning("%s cannot be written (%s): the guide stays as it is", self._path, error.strerror)
            return False
        self._lines = [one for one in self._lines if one not in same] + [dict(line) | {"written": True}]
        return True

    @staticmethod
    def _is_written(line: Mapping[str, Any]) -> bool:
        return bool(line.get("written"))


def coach_lines(run: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's record; none where it has no coach."""
    try:
        return list(_lines(run / NAME)) if (run / NAME).exists() else []
    except SettingsError:
        return []


def _append(path: Path, data: bytes) -> None:
    """Add a line; what a kill left of a line before it is cut off."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        size = os.fstat(file).st_size
        kept = os.pread(file, size, 0).rfind(b"\n") + 1
        os.ftruncate(file, kept)
        os.pwrite(file, data, kept)
        os.fsync(file)
    finally:
        os.close(file)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a record that can be read; a damaged one is named and left out."""
    try:
        data = read_input(path, _LARGEST)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text:
            continue
        line = _line(text)
        if line is None:
            log.warning("line %d of %s cannot be read; it is left out", number, path)
        else:
            yield {**line, "written": True}


def _line(text: bytes) -> dict[str, Any] | None:
    try:
        line = parse_json(text) if len(text) <= _LARGEST_LINE else None
    except ValueError:
        return None
    if not isinstance(line, dict) or type(line.get("update")) is not int:
        return None
    return line if line.get("what") in (*DECISIONS, KEPT, ROLLED_BACK) else None


def _decisions_of(run: Path) -> list[dict[str, Any]]:
    """Return the decisions of another run, for one that repeats it."""
    path = run / NAME if run.is_dir() else run
    if not path.exists():
        raise SettingsError(f"{run} has no {NAME}: it was trained without a coach")
    return [{**line, "written": False} for line in _lines(path) if line["what"] in DECISIONS]
