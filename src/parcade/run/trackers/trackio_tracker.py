"""trackio: a local store that `trackio show` displays; TRACKIO_DIR moves it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcade.run.trackers.base import Entry, Setting


class TrackioTracker:
    """One trackio run; its name is its id."""

    def open(self, entry: Entry) -> str:
        """Begin a run, or go on with the one of this name."""
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a local store needs nothing from elsewhere
        import trackio

        self._trackio: Any = trackio
        self._project, self._name = entry.project, entry.id or entry.name
        self._run: Any = trackio.init(
            self._project,
            name=self._name,
            config={**entry.settings},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return self._name

    @property
    def where(self) -> str:
        """How a person sees it."""
        return f"trackio show --project {self._project} (run {self._name})"

    def log(self, env_steps: int, values: Mapping[str, float]) -> None:
        """Add one point to each curve."""
        self._run.log({**values}, step=env_steps)

    def add_video(self, path: Path, env_steps: int) -> None:
        """Add a film to the run's media."""
        self._run.log({f"videos/{path.stem}": self._trackio.Video(str(path), caption=path.stem)}, step=env_steps)

    def add_model(self, path: Path) -> None:
        """Add a model as an artifact of the run."""
        self._trackio.log_artifact(str(path), name=f"{self._name}-{path.stem}".replace(" ", "-"), type="model")

    def close(self, state: str, results: Mapping[str, Setting]) -> None:
        """Write the results beside the curves and wait for what is still on its way."""
        numbers = {f"result/{name}": value for name, value in results.items() if isinstance(value, int | float)}
        if numbers:
            self._run.log(numbers)
        self._trackio.finish()
