"""TensorBoard's event file. A full disk ends it with a warning and stops nothing else."""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from parcade.run.private_tensorboard import hyperparameter_parts, record_parts

log = logging.getLogger("parcade.run")
FLUSH_EVERY_S = 10.0
RESULTS = ("eval/mean_reward", "rollout/ep_rew_mean", "rollout/success_rate", "time/steps_per_s", "time/seconds")
_FILES = "events.out.tfevents.*"


class TensorBoardWriter:
    """Writes scalars as TensorBoard reads them (its own records, no torch here)."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        number = len(list(folder.glob(_FILES)))
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{number}"
        self._name = name
        self._file: IO[bytes] | None = None
        self._flushed_s = time.monotonic()
        self._parts = record_parts()
        if self._parts is None:
            log.warning("%s does not write records as before; this run has no curves in logs/", _version())
            return
        self._file = open(folder / name, "ab")  # noqa: SIM115
        self._records: Any = self._parts.writer(self._file)
        self._add(file_version="brain.Event:2")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Add one point to each curve."""
        if self._parts is not None:
            kind = self._parts.summary
            points = [kind.Value(tag=tag, simple_value=value) for tag, value in values.items()]
            self._add(step=step, summary=kind(value=points))

    def write_hyperparameters(self, settings: Mapping[str, bool | int | float | str]) -> None:
        """Add the run to TensorBoard's page of hyperparameters; beside them stand the last points of RESULTS."""
        if self._file is None:
            return
        hparams = hyperparameter_parts()
        if hparams is None:
            log.warning("%s has no page of hyperparameters as before; this run is not on it", _version())
            return
        infos = [hparams.HParam(name) for name in settings]
        results = [hparams.Metric(tag) for tag in RESULTS]
        run = str(self._folder.parent.resolve())
        for summary in (hparams.hparams_config_pb(infos, results), hparams.hparams_pb(settings, trial_id=run)):
            self._add(summary=summary)

    def _add(self, **content: Any) -> None:
        if self._file is None or self._parts is None:
            return
        event = self._parts.event(wall_time=time.time(), **content)
        try:
            self._records.write(event.SerializeToString())
            if time.monotonic() - self._flushed_s >= FLUSH_EVERY_S:
                self._flushed_s = time.monotonic()
                self._file.flush()
        except OSError as error:
            log.warning("TensorBoard's file in logs/ cannot be written (%s); its curves end here", error.strerror)
            self.close()

    def ends(self) -> dict[str, int]:
        """Return the size of every event file of the run, with all points written."""
        if self._file is not None:
            self._file.flush()
        return {path.name: path.stat().st_size for path in self._folder.glob(_FILES)}

    def cut(self, ends: Mapping[str, int]) -> None:
        """Go back to ``ends``: points that earlier parts of the run wrote after it are to be written again."""
        for path in self._folder.glob(_FILES):
            if path.name == self._name:
                continue
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if path.name not in ends:
                path.unlink()
            elif ends[path.name] < path.stat().st_size:
                os.truncate(path, ends[path.name])

    def close(self) -> None:
        """Close the file; twice is fine."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                log.warning("the last points of TensorBoard's file could not be written (%s)", error.strerror)


def _version() -> str:
    return f"TensorBoard {metadata.version('tensorboard')}"
