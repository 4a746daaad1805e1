"""A run's folder: results/<run_name>/<timestamp>/."""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from parcade.errors import SettingsError
from parcade.host.input_file import parse_json, read_input
from parcade.run.atomic import write_atomic

_STAMP, _STAMP_FORMAT = re.compile(r"\d{8}-\d{6}(-\d+)?"), "%Y%m%d-%H%M%S"
_LARGEST = 4 << 20  # of a manifest
PACKAGES = ("parcade", "torch", "numpy", "gymnasium", "pyboy", "mgba")


class RunFolder:
    """The paths of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.manifest, self.metrics = path / "config.json", path / "manifest.json", path / "metrics.jsonl"
        self.summary, self.report = path / "summary.json", path / "report.html"
        self.logs, self.monitor, self.checkpoints = path / "logs", path / "monitor", path / "checkpoints"
        self.models, self.videos, self.episodes = path / "models", path / "videos", path / "episodes"
        self.lock = self.logs / "lock"  # held by the process that trains

    @classmethod
    def create(cls, log_root: str, run_name: str) -> RunFolder:
        """Make a new folder with a time stamp of its own."""
        stamp = datetime.now().strftime(_STAMP_FORMAT)
        try:
            for attempt in range(1000):
                path = Path(log_root) / run_name / (stamp if attempt == 0 else f"{stamp}-{attempt}")
                try:
                    path.mkdir(parents=True)
                    break
                except FileExistsError:
                    if not path.parent.is_dir():
                        raise NotADirectoryError(20, f"{path.parent} is not a folder") from None
            folder = cls(path)
            for part in (folder.logs, folder.monitor, folder.checkpoints, folder.models, folder.videos):
                part.mkdir()
        except OSError as error:
            raise SettingsError(f"a run cannot be stored in {log_root}/{run_name}: {error.strerror}") from None
        return folder

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Return an existing run's folder."""
        folder = cls(Path(path))
        if not folder.config.is_file():
            newest = newest_run(folder.path)
            hint = f"; did you mean {newest}?" if newest else ""
            raise SettingsError(f"{path} is not a run folder (it has no config.json){hint}")
        _check_parts(folder.path)
        return folder


def _check_parts(run: Path) -> None:
    """Refuse links that lead out of a run's folder, pipes and devices: a run writes to its files and shortens them."""
    for place, folders, files in os.walk(run):
        for name in (*folders, *files):
            part = Path(place, name)
            kind = part.lstat().st_mode
            if stat.S_ISLNK(kind) and not part.resolve().is_relative_to(run.resolve()):
                raise SettingsError(
                    f"{part} is a link to outside of the run's folder; replace it by a copy of its target"
                )
            if not (stat.S_ISLNK(kind) or stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise SettingsError(f"{part} is a pipe or a device, which no run has; remove it")


@contextmanager
def faults_told(run: Path) -> Iterator[None]:
    """Tell in one sentence which file of a run cannot be opened: it is a folder, or belongs to somebody else."""
    try:
        yield
    except OSError as error:
        path = error.filename
        if not isinstance(path, str) or not Path(path).absolute().is_relative_to(run.absolute()):
            raise
        raise SettingsError(f"{path} of the run cannot be opened: {error.strerror}; repair or remove it") from None


def newest_run(below: Path) -> Path | None:
    """Return the folder of the run begun last, up to three folders down."""
    configs = (path for depth in ("*", "*/*", "*/*/*") for path in below.glob(f"{depth}/config.json"))
    runs = (path.parent for path in configs if path.with_name("manifest.json").is_file())
    return max(runs, key=lambda run: (begun(run), run.stat().st_mtime), default=None)


def begun(run: Path) -> str:
    """Return when a run began, as names of runs say it; for other names, as a sweep's trials have, from its manifest.

    A folder that tells no time counts by the time of its last change.
    """
    if _STAMP.fullmatch(run.name):
        return run.name
    try:
        told = datetime.fromisoformat(str(parse_json(read_input(run / "manifest.json", _LARGEST))["started"]))
        return told.astimezone().strftime(_STAMP_FORMAT)
    except (OSError, ValueError, LookupError, TypeError):
        return datetime.fromtimestamp(run.stat().st_mtime).strftime(_STAMP_FORMAT) if run.exists() else ""


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
    write_atomic(path, (json.dumps(data, indent=2, sort_keys=False) + "\n").encode())


def manifest(settings: dict[str, Any], rom_sha1: str | None) -> dict[str, Any]:
    """Return what is needed to know later how a run was made."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "command": sys.argv,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": versions,
        "git": _git_commit(),
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "processor": processor_name()},
        "seed": settings.get("seed"),
        "rom_sha1": rom_sha1,
    }


def _git_commit() -> str | None:
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def processor_name() -> str:
    """Return what the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
