"""Checkpoints: all that is needed to go on exactly. The newest few are kept; a damaged one is named and passed over."""

from __future__ import annotations

import errno
import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch

from parcade.errors import ModelFileError
from parcade.host.input_file import short
from parcade.run.archive import Arrays, read_archive, write_archive
from parcade.run.model_file import require_numbers

log = logging.getLogger("parcade.run")
Written = TypeVar("Written")
_COUNTERS: dict[str, tuple[type, ...]] = {
    "update": (int,),
    "env_steps": (int,),
    "seconds": (int, float),
    "best": (int, float, type(None)),
}
_NAME = re.compile(r"step_(\d+)\.ckpt")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A moment between two updates, as plain data."""

    meta: dict[str, Any]  # counters, schedules, windows; JSON-ready
    weights: dict[str, torch.Tensor]
    algorithm: dict[str, torch.Tensor]  # what it needs beside the weights: moments, states of random generators
    pool: Arrays  # what every slot was told since its episode began
    episodes: Arrays = field(default_factory=dict)  # kept ones that have no file yet


def save_checkpoint(folder: Path, env_steps: int, checkpoint: Checkpoint, keep: int) -> Path | None:
    """Write a checkpoint and drop all but the newest ``keep``; a failed write returns None and leaves the newest one.

    A full disk costs the oldest checkpoints first.
    """
    path = folder / f"step_{env_steps:012d}.ckpt"
    require_numbers(checkpoint.weights, path)
    groups = {
        "weights": _to_arrays(checkpoint.weights),
        "algorithm": _to_arrays(checkpoint.algorithm),
        "pool": checkpoint.pool,
        "episodes": checkpoint.episodes,
    }
    try:
        write_making_room(folder, path.name, lambda: write_archive(path, "checkpoint", checkpoint.meta, groups))
    except OSError as error:
        stays = "the one before it stays" if list_checkpoints(folder) else "there is none yet"
        log.warning("the checkpoint %s could not be written (%s); %s", path.name, error.strerror, stays)
        return None
    for old in list_checkpoints(folder)[:-keep]:
        old.unlink(missing_ok=True)
    return path


def write_making_room(folder: Path, name: str, write: Callable[[], Written]) -> Written:
    """Return what ``write`` returns; while the disk is full, drop the oldest checkpoint and call it again.

    Raise the OSError of ``write`` if no checkpoint can be dropped, and any other one at once.
    """
    while True:
        try:
            return write()
        except OSError as error:
            if not _made_room(folder, name, error):
                raise


def _made_room(folder: Path, name: str, error: OSError) -> bool:
    """Drop the oldest checkpoint where the disk is full; the newest one is never given up."""
    kept = list_checkpoints(folder)
    if error.errno not in (errno.ENOSPC, errno.EDQUOT) or len(kept) < 2:
        return False
    log.warning("the disk is full: the checkpoint %s makes room for %s", kept[0].name, name)
    kept[0].unlink(missing_ok=True)
    return True


def list_checkpoints(folder: Path) -> list[Path]:
    """Return a run's checkpoints, oldest first."""
    return sorted(path for path in folder.glob("step_*.ckpt") if _NAME.fullmatch(path.name))


def load_newest(folder: Path) -> Checkpoint:
    """Return the newest checkpoint that is whole."""
    paths = list_checkpoints(folder)
    for path in reversed(paths):
        try:
            return load_checkpoint(path)
        except ModelFileError as error:
            log.warning("%s%s", error, "; the one before it is used" if path != paths[0] else "")
    found = f"none of its {len(paths)} checkpoints can be read" if paths else "it has no checkpoint yet"
    raise ModelFileError(f"the run in {folder.parent} cannot be resumed: {found}")


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint."""
    meta, groups = read_archive(path, "checkpoint")
    missing = {"weights", "algorithm", "pool"} - set(groups)
    if missing:
        raise ModelFileError(f"{path} lacks {', '.join(sorted(missing))}")
    weights, algorithm = _to_tensors(groups["weights"]), _to_tensors(groups["algorithm"])
    require_numbers({**weights, **algorithm}, path)
    return Checkpoint(meta, weights, algorithm, groups["pool"], groups.get("episodes", {}))


def check_counters(meta: dict[str, Any]) -> None:
    """Raise ModelFileError unless the counters of a checkpoint count."""
    for name, kinds in _COUNTERS.items():
        value = meta.get(name)
        if type(value) not in kinds or (name != "best" and not 0 <= (value or 0) < math.inf):
            raise ModelFileError(f"{name} is {short(value)}, wanted a number of steps, updates or seconds")


def check_journal(pool: Arrays) -> None:
    """Raise ModelFileError unless every slot has the actions it says it has."""
    lengths = pool.get("length")
    rows = [array.shape[1] if array.ndim > 1 else 0 for name, array in pool.items() if name.startswith("actions:")]
    if lengths is None or lengths.dtype.kind not in "iu" or not rows:
        raise ModelFileError("it holds no actions of the games")
    if lengths.min(initial=0) < 0 or lengths.max(initial=0) > min(rows):
        raise ModelFileError("the numbers of steps of its games do not match its actions")
    episodes = pool.get("episode")
    if episodes is None or episodes.dtype.kind not in "iu" or episodes.min(initial=0) < 0:
        raise ModelFileError("it does not say which episodes its games are in")


def _to_arrays(tensors: dict[str, torch.Tensor]) -> Arrays:
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def _to_tensors(arrays: Arrays) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
