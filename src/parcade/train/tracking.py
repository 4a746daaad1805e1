"""From events to trackers: what W&B, MLflow and trackio are told of a training."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from parcade.config.settings import TrainSettings
from parcade.run.directory import RunFolder
from parcade.run.flat_settings import flat_settings
from parcade.run.metrics import tensorboard_values
from parcade.run.trackers.background import BackgroundTracker
from parcade.run.trackers.base import FAILED, FINISHED, STOPPED, check_installed
from parcade.train import events

log = logging.getLogger("parcade.train")
_OWN = ("track", "track_project", "log_root")  # settings that say nothing of the training


class Tracking:
    """Listens to a training for all of its trackers and passes each event on; the trackers work elsewhere."""

    def __init__(self, settings: TrainSettings, folder: RunFolder, on_event: events.Listener | None) -> None:
        self._settings, self._folder, self._on_event = settings, folder, on_event
        self._trackers: list[BackgroundTracker] = []

    def __enter__(self) -> Tracking:
        """Refuse trackers whose package is not installed; they open with the first rollout."""
        for name in self._settings.track:
            check_installed(name)
        return self

    def __call__(self, event: events.Event) -> None:
        """Pass an event on and follow it: whoever watches sees the end before the trackers are waited for."""
        if self._on_event is not None:
            self._on_event(event)
        if self._settings.track:
            self._follow(event)

    def _follow(self, event: events.Event) -> None:
        if isinstance(event, events.Started):
            self._open()
        elif isinstance(event, events.Updated):
            self._send({"row": [event.row["env_steps"], event.curves]})
        elif isinstance(event, events.Finished):
            self._finish(event)

    def _open(self) -> None:
        settings, run = self._settings, self._folder.path
        try:
            for name in settings.track:
                self._trackers.append(BackgroundTracker(name, run.resolve()))
        except OSError as error:  # no process, memory or descriptor left
            log.warning("the tracker %s cannot be started, the training goes on without it: %s", name, error.strerror)
        told = {name: value for name, value in settings.model_dump(mode="json").items() if name not in _OWN}
        about = {
            "name": f"{settings.name} {run.name}",
            "project": settings.track_project,
            "log_root": settings.log_root,
            "settings": {**flat_settings(told), "run_dir": str(run)},
        }
        self._send({"open": about})

    def _send(self, message: dict[str, Any]) -> None:
        for tracker in self._trackers:
            tracker.send(message)

    def _finish(self, event: events.Finished) -> None:
        result, folder = event.result, self._folder
        if event.evaluation is not None:
            values = tensorboard_values({"eval": event.evaluation.summary()}, ())
            self._send({"row": [result.env_steps, values], "is_last": True})
        for film in sorted(folder.videos.glob("*.mp4")):
            self._send({"video": str(film.resolve()), "env_steps": result.env_steps})
        for model in sorted(folder.models.glob("*.zip")):
            self._send({"model": str(model.resolve())})
        told = {name: value for name, value in asdict(result).items() if name not in ("run_dir", "model")}
        self._end(STOPPED if result.interrupted else FINISHED, flat_settings(told))

    def _end(self, state: str, results: dict[str, Any]) -> None:
        trackers, self._trackers = self._trackers, []
        for tracker in trackers:
            tracker.end({"close": [state, results]})
        for tracker in trackers:
            tracker.close()

    def __exit__(self, *_: object) -> None:
        """End what is still open: the training failed."""
        self._end(FAILED, {})
