"""What every tracker does, which ones there are, and what a run's folder keeps of its entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from parcade.errors import MissingExtraError
from parcade.host.input_file import parse_json, read_input
from parcade.run.atomic import write_atomic

TRACKERS = {
    "wandb": "parcade.run.trackers.wandb_tracker:WandbTracker",
    "mlflow": "parcade.run.trackers.mlflow_tracker:MlflowTracker",
    "trackio": "parcade.run.trackers.trackio_tracker:TrackioTracker",
}
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
Setting = str | int | float | bool
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tracker must know to open a run's entry; ``id`` is that of the run's earlier parts, if there were any."""

    name: str
    project: str
    log_root: str
    settings: dict[str, Setting]
    id: str | None = None


class Tracker(Protocol):
    """One service's entry of one run. Any call may fail or take long: it runs in a process of its own."""

    def open(self, entry: Entry) -> str:
        """Begin the entry, or go on with the one that ``entry.id`` names; return its id."""
        ...

    @property
    def where(self) -> str:
        """Where a person finds the entry."""
        ...

    def log(self, env_steps: int, values: Mapping[str, float]) -> None:
        """Add one point to each curve."""
        ...

    def add_video(self, path: Path, env_steps: int) -> None:
        """Add a film of the agent."""
        ...

    def add_model(self, path: Path) -> None:
        """Add a model file."""
        ...

    def close(self, state: str, results: Mapping[str, Setting]) -> None:
        """End the entry with the run's results; ``state`` is finished, stopped or failed."""
        ...


@dataclass(slots=True)
class Kept:
    """What a run's folder keeps of its entry: which one it is, and up to which step it has points."""

    id: str
    env_steps: int = 0
    where: str = ""


def check_installed(name: str) -> None:
    """Raise MissingExtraError where the tracker's package is not installed."""
    found = find_spec(name)
    if found is None or found.origin is None:  # a plain folder of that name is no package
        raise MissingExtraError(
            f"track {name} needs the package {name}, which is not installed; install it with: pip install {name}, "
            "or all trackers with: pip install 'parcade[track]'"
        )


def make_tracker(where: str) -> Tracker:
    """Return the tracker that ``module:Class`` names."""
    module, _, name = where.partition(":")
    made: Tracker = getattr(import_module(module), name)()
    return made


def kept_file(run: Path, name: str) -> Path:
    """Return where a run keeps what it must know of a tracker's entry."""
    return run / "trackers" / f"{name}.json"


def read_kept(run: Path, name: str) -> Kept | None:
    """Return what the run's folder knows of the tracker's entry; None where it knows nothing that can be used."""
    try:
        found = parse_json(read_input(kept_file(run, name), _LARGEST))
        kept = Kept(found["id"], found["env_steps"], found["where"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    fits = isinstance(kept.id, str) and isinstance(kept.env_steps, int) and isinstance(kept.where, str)
    return kept if fits else None


def write_kept(run: Path, name: str, kept: Kept) -> None:
    """Write it, whole or not at all."""
    path = kept_file(run, name)
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, (json.dumps(asdict(kept), indent=2) + "\n").encode(), sync=False)
