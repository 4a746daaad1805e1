"""The runs below a folder, each with what its files tell; nothing outside the folder is ever opened."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.errors import RunError, SettingsError
from parcade.host.input_file import parse_json, read_input
from parcade.run.directory import begun, newest_run

LARGEST_JSON = 4 << 20
_LIST_S, _GLANCE_S = 2.0, 0.2  # for which a list of runs holds; the same where somebody asks for a run not in it
_MOST_RUNS = 2000
_TWO_WORDS = re.compile(r"\w+/\w[\w.-]*")
_DEPTHS = ("", "*", "*/*", "*/*/*")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """One run: its name below the root, and its folder."""

    name: str
    path: Path


class Runs:
    """What is below ``root``; with ``only`` set, that run alone is told of."""

    def __init__(self, root: Path, only: str | None = None) -> None:
        self.root, self.only = root.resolve(), only
        self._listed: list[RunPlace] = []
        self._listed_s = -_LIST_S

    def all(self, at_most_s: float = _LIST_S) -> list[RunPlace]:
        """Return all runs, the newest first, as they were at most so long ago."""
        now = time.monotonic()
        if now - self._listed_s >= at_most_s:
            self._listed, self._listed_s = self._found(), now
        return self._listed

    def _found(self) -> list[RunPlace]:
        if self.only is not None:
            return [RunPlace(self.only, self.root / self.only)]
        configs = (
            path for depth in _DEPTHS for path in self.root.glob(f"{depth}/config.json" if depth else "config.json")
        )
        folders = [path.parent for path in configs if not path.is_symlink() and path.is_file()]
        found = [RunPlace(folder.relative_to(self.root).as_posix(), folder) for folder in folders]
        found = [run for run in found if self._is_inside(run.path)]
        return sorted(found, key=lambda run: (begun(run.path), run.name), reverse=True)[:_MOST_RUNS]

    def find(self, name: str) -> RunPlace | None:
        """Return the run of this name; None where there is none."""
        for at_most_s in (_LIST_S, _GLANCE_S):  # one that is not known may have begun just now
            found = next((run for run in self.all(at_most_s) if run.name == name), None)
            if found is not None:
                return found
        return None

    def file(self, run: RunPlace, name: str) -> Path | None:
        """Return a plain file ``folder/file`` of a run; None for anything else, above all for what leads elsewhere."""
        if not _TWO_WORDS.fullmatch(name):
            return None
        path = run.path / name
        try:
            is_there = path.is_file() and path.resolve().parent == path.parent.resolve()
            return path if is_there and self._is_inside(path) else None
        except OSError:
            return None

    def _is_inside(self, folder: Path) -> bool:
        return folder.resolve().is_relative_to(self.root)


def runs_at(path: str | None, log_root: str) -> Runs:
    """Return the runs that ``parcade watch`` is to show: one run, those below a folder, or all of ``log_root``.

    A folder that was named and holds no run is refused; in ``log_root`` the first one may begin later.
    """
    folder = Path(path if path is not None else log_root)
    if not folder.is_dir():
        raise SettingsError(f"there is no folder {folder}{_newest_words(log_root)}")
    if (folder / "config.json").is_file():
        folder = folder.resolve()
        return Runs(folder.parent, folder.name)
    found = Runs(folder)
    if path is not None and not found.all():
        raise SettingsError(f"there is no run in {folder} or below it{_newest_words(log_root)}")
    return found


def _newest_words(log_root: str) -> str:
    newest = newest_run(Path(log_root))
    return f"; the newest run is {newest}" if newest else "; `parcade train` begins one"


def read_json(path: Path) -> dict[str, Any]:
    """Return a run's JSON file; an empty record where there is none, RunError where it is damaged."""
    try:
        data = parse_json(read_input(path, LARGEST_JSON))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunError(f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{path.name} is damaged: {error}") from None
    if not isinstance(data, dict):
        raise RunError(f"{path.name} is damaged: it holds no record")
    return data


def listed_files(run: Path, folder: str, most: int = 500) -> list[dict[str, Any]]:
    """Return name, size and time of the files in one of a run's folders, the newest first."""
    found = []
    try:
        with os.scandir(run / folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                    told = entry.stat(follow_symlinks=False)
                    found.append({"name": f"{folder}/{entry.name}", "size": told.st_size, "time_s": told.st_mtime})
    except OSError:
        return []
    return sorted(found, key=lambda file: (file["time_s"], file["name"]), reverse=True)[:most]


def tail(path: Path, most: int = 64 << 10) -> str:
    """Return the end of a text file, from a whole line on."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            data = file.read(most)
    except OSError:
        return ""
    text = data.decode("utf-8", "replace")
    return text.partition("\n")[2] if size > most else text
