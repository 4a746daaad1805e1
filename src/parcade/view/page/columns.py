"""metrics.jsonl as columns: read on as it grows, thinned where it is long."""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MOST_ROWS = 4096  # kept in memory; beyond it every second old row goes
MOST_COLUMNS = 400
_CHUNK = 1 << 20
_HUGE = 1e100


class Columns:
    """The numbers of one metrics.jsonl by name, such as ``losses/entropy``; NaN where a row does not have one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self.columns: dict[str, array[float]] = {}
        self.n_rows = 0
        self.version = 0  # changes when rows before the newest ones changed
        self._offset = 0
        self._rest = b""
        self._stride, self._since = 1, 0
        self._identity: tuple[int, int] | None = None

    def read_on(self) -> None:
        """Take over what was appended; a file that was cut or replaced is read anew."""
        try:
            with open(self._path, "rb") as file:
                told = os.fstat(file.fileno())
                identity = told.st_dev, told.st_ino
                if told.st_size < self._offset or (self._identity is not None and identity != self._identity):
                    version = self.version
                    self._begin()
                    self.version = version + 1
                self._identity = identity
                file.seek(self._offset)
                while chunk := file.read(_CHUNK):
                    self._offset += len(chunk)
                    self._take(chunk)
        except OSError:
            return

    def _take(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            row = parsed(line)
            if row is not None:
                self._add(row)

    def _add(self, row: Mapping[str, Any]) -> None:
        is_marked = "eval" in row  # evaluations are few and never left out
        self._since += 1
        if self._since < self._stride and not is_marked:
            return
        self._since = 0
        for name, value in flat(row):
            column = self.columns.get(name)
            if column is None:
                if len(self.columns) >= MOST_COLUMNS:
                    continue
                column = self.columns[name] = array("d", [math.nan]) * self.n_rows
            column.append(value)
        self.n_rows += 1
        for column in self.columns.values():
            if len(column) < self.n_rows:
                column.append(math.nan)
        if self.n_rows > MOST_ROWS:
            self._thin()

    def _thin(self) -> None:
        evaluated = self.columns.get("eval/mean_reward")
        kept = [i for i in range(self.n_rows) if i % 2 or (evaluated is not None and evaluated[i] == evaluated[i])]
        self.columns = {name: array("d", (column[i] for i in kept)) for name, column in self.columns.items()}
        self.n_rows = len(kept)
        self._stride *= 2
        self.version += 1

    def told(self, since: int, version: int) -> dict[str, Any]:
        """Return the rows from ``since`` on as JSON-ready columns; all of them for another version."""
        first = since if version == self.version and 0 <= since <= self.n_rows else 0
        columns = {name: [_plain(value) for value in column[first:]] for name, column in self.columns.items()}
        return {"version": self.version, "first": first, "n_rows": self.n_rows, "columns": columns}


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return a row of metrics; None for a damaged line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a row with their names.

    >>> list(flat({"update": 1, "game": {"keys": 0.5, "none": None}}))
    [('update', 1.0), ('game/keys', 0.5)]
    """
    for name, value in row.items():
        if isinstance(value, dict):
            if not prefix:
                yield from flat(value, f"{name}/")
        elif isinstance(value, int | float) and abs(value) < _HUGE:
            yield f"{prefix}{name}", float(value)


def csv_lines(path: Path) -> Iterator[str]:
    """Yield a metrics.jsonl as CSV, every row of it; the columns are those of all rows."""
    names: dict[str, None] = {}
    for row in _rows(path):
        names |= dict.fromkeys(name for name, _ in flat(row))
    yield ",".join(_quoted(name) for name in names) + "\n"
    for row in _rows(path):
        values = dict(flat(row))
        yield ",".join("" if name not in values else f"{values[name]:.10g}" for name in names) + "\n"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            for line in file:
                row = parsed(line)
                if row is not None:
                    yield row
    except OSError:
        return


def _quoted(name: str) -> str:
    safe = name if name[:1] not in "=+-@\t\r" else f"'{name}"  # a spreadsheet would take it for a formula
    return '"' + safe.replace('"', '""') + '"' if any(sign in safe for sign in ',"\n\r') else safe


def _plain(value: float) -> float | None:
    return None if value != value else float(f"{value:.7g}")
