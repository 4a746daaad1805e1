"""MLflow: a server that MLFLOW_TRACKING_URI names, else a local SQLite store beside the runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcade.run.trackers.base import FAILED, FINISHED, STOPPED, Entry, Setting

URI = "MLFLOW_TRACKING_URI"
_STATES = {FINISHED: "FINISHED", STOPPED: "KILLED", FAILED: "FAILED"}
_AT_ONCE = 500  # metrics of one request; MLflow takes 1,000
_LONGEST = 500  # characters of a setting
# A server that does not answer: minutes by MLflow's own defaults.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MlflowTracker:
    """One MLflow run in the experiment that is named after the project."""

    def open(self, entry: Entry) -> str:
        """Begin an MLflow run, or go on with the one of this id."""
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        from mlflow.tracking import MlflowClient

        root = Path(entry.log_root).resolve()
        self._uri = os.environ.get(URI) or f"sqlite:///{root / 'mlflow.db'}"
        self._client: Any = MlflowClient(tracking_uri=self._uri)
        self._experiment = self._find_experiment(entry.project, root)
        if entry.id is not None and self._goes_on(entry.id):
            self._id = entry.id
            return self._id
        self._id = self._client.create_run(self._experiment, run_name=entry.name).info.run_id
        from mlflow.entities import Param

        params = [Param(key, str(value)[:_LONGEST]) for key, value in entry.settings.items()]
        for first in range(0, len(params), 100):  # as many as one request takes
            self._client.log_batch(self._id, params=params[first : first + 100])
        return self._id

    def _find_experiment(self, project: str, root: Path) -> str:
        found = self._client.get_experiment_by_name(project)
        if found is not None:
            return str(found.experiment_id)
        is_local = self._uri.startswith("sqlite:")
        place = {"artifact_location": (root / "mlflow-files").as_uri()} if is_local else {}
        return str(self._client.create_experiment(project, **place))

    def _goes_on(self, run_id: str) -> bool:
        """Open the entry again; False where the store does not have it (any more)."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.update_run(run_id, status="RUNNING")
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return False
            raise
        return True

    @property
    def where(self) -> str:
        """The store, with the ids to look for."""
        return f"{self._uri} experiment {self._experiment} run {self._id}"

    def log(self, env_steps: int, values: Mapping[str, float]) -> None:
        """Add one point to each curve."""
        from mlflow.entities import Metric

        now_ms = int(time.time() * 1000)
        metrics = [Metric(name, value, now_ms, env_steps) for name, value in values.items()]
        for first in range(0, len(metrics), _AT_ONCE):
            self._client.log_batch(self._id, metrics=metrics[first : first + _AT_ONCE])

    def add_video(self, path: Path, env_steps: int) -> None:
        """Add a film to the run's artifacts."""
        self._client.log_artifact(self._id, str(path), "videos")

    def add_model(self, path: Path) -> None:
        """Add a model file to the run's artifacts."""
        self._client.log_artifact(self._id, str(path), "models")

    def close(self, state: str, results: Mapping[str, Setting]) -> None:
        """Write the results as tags and end the run."""
        for name, value in results.items():
            self._client.set_tag(self._id, f"result.{name}", str(value)[:_LONGEST])
        self._client.set_terminated(self._id, status=_STATES[state])
