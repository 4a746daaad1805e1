"""Train a part of a trial: an ordinary run, from where it stands until a rung, its goal or its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from parcade.config.settings import TrainSettings
from parcade.errors import RunError
from parcade.host.input_file import parse_json, read_input, short
from parcade.run.directory import RunFolder
from parcade.run.listing import rows_of
from parcade.train import events
from parcade.train.opening import Machines
from parcade.train.resume import LARGEST, finished, take_up_newest
from parcade.train.training import Training
from parcade.tune.sweep.objective import Objective, Row, rows_until

Told = Callable[[Row], None]
_OF_THE_MACHINE = (
    *("log_root", "run_name", "n_workers", "num_threads", "pin_workers", "parallel_start_method"),
    *("learners", "cluster", "cluster_wait"),
)


@dataclass(frozen=True, slots=True)
class TrialPart:
    """How a part of a trial ended, and the rows of its run up to there."""

    end: Literal["over", "rung", "stopped"]
    rows: list[Row]


def train_part(
    path: Path,
    settings: TrainSettings,
    objective: Objective,
    target: int,
    *,
    on_row: Told,
    is_stopped: Callable[[], bool],
    machines: Machines | None = None,
) -> TrialPart:
    """Train the run at ``path`` until ``target`` env steps; what its rows tell already is not trained again.

    The run is paused as Ctrl-C would pause it, so that going on is an exact resume. Its schedules run to the end of
    the whole training, wherever it pauses.
    """
    known = _known(path, settings, objective, target)
    if known is not None:
        return known
    folder = _made(path)
    is_new = not folder.config.exists()
    if not is_new:
        _check_same(folder, settings)
    listener = _Listener(objective, target, on_row, is_stopped)
    with Training(settings, folder, listener, machines=machines) as training:
        listener.training = training
        if is_new:
            training.begin()
        else:
            take_up_newest(training, {})
        training.run()
    return _known(path, settings, objective, target) or TrialPart("stopped", rows_of(path))


def _known(path: Path, settings: TrainSettings, objective: Objective, target: int) -> TrialPart | None:
    """Return how the part ended, if the run's rows say so; None where there is more to train.

    Rows are a function of the settings, so one that a killed job wrote is as good as any.
    """
    is_over = (path / "config.json").exists() and finished(path) is not None
    rows = [row for row in rows_of(path) if is_over or not row.get("final")]
    for index, row in enumerate(rows):
        if objective.is_reached(row):
            return TrialPart("over", rows[: index + 1])
    until = rows_until(rows, target) if target < settings.total_timesteps else None
    if until is not None:
        return TrialPart("rung", until)
    return TrialPart("over", rows) if is_over else None


def _check_same(folder: RunFolder, settings: TrainSettings) -> None:
    """Refuse to go on with a run that was begun with other settings: by another version, or changed by hand."""
    try:
        written = parse_json(read_input(folder.config, LARGEST))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.config} cannot be read ({error}); delete {folder.path} to train it again") from None
    for name, value in settings.model_dump(mode="json").items():
        if name not in _OF_THE_MACHINE and written.get(name) != value:
            raise RunError(
                f"{folder.path} was begun with {name} {short(written.get(name))}, the sweep wants {short(value)}; "
                "delete that folder to train it again"
            )


def _made(path: Path) -> RunFolder:
    """Return a run's folder with its parts, which a killed job may have begun."""
    folder = RunFolder(path)
    for part in (folder.logs, folder.monitor, folder.checkpoints, folder.models, folder.videos):
        part.mkdir(parents=True, exist_ok=True)
    return folder


class _Listener:
    """Ends the training at its target, at its goal, or when the sweep is stopped."""

    def __init__(self, objective: Objective, target: int, on_row: Told, is_stopped: Callable[[], bool]) -> None:
        self._objective, self._target, self._on_row, self._is_stopped = objective, target, on_row, is_stopped
        self.training: Training | None = None
        self._whole = 0

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.Opening):
            self._whole = event.settings.total_timesteps
        is_enough = False
        if isinstance(event, events.Updated):
            self._on_row(event.row)
            is_enough = self._objective.is_reached(event.row) or self._is_at_rung(event.row)
        # An evaluation is played to its end: one that was cut short would leave other numbers in the run's rows.
        may_stop = isinstance(event, events.Started | events.Playing | events.Updated)
        if self.training is not None and may_stop and (is_enough or self._is_stopped()):
            self.training.request_stop()

    def _is_at_rung(self, row: dict[str, Any]) -> bool:
        return self._target < self._whole and row["env_steps"] >= self._target
