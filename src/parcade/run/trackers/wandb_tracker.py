"""Weights & Biases: online with `wandb login`, or offline with WANDB_MODE=offline and `wandb sync` later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcade.run.trackers.base import FINISHED, STOPPED, Entry, Setting

STEP = "env_steps"
_OPEN_S = 30.0


class WandbTracker:
    """One W&B run; its files are in <log_root>/wandb."""

    def open(self, entry: Entry) -> str:
        """Begin a W&B run, or go on with the one of this id."""
        import wandb

        os.environ.setdefault("WANDB_SILENT", "true")
        self._wandb = wandb
        self._run: Any = wandb.init(
            project=entry.project,
            name=entry.name,
            id=entry.id,
            resume="allow",
            dir=entry.log_root,
            config={**entry.settings},
            allow_val_change=True,
            settings=wandb.Settings(console="off", init_timeout=_OPEN_S, disable_git=True, x_save_requirements=False),
        )
        self._run.define_metric("*", step_metric=STEP)
        return str(self._run.id)

    @property
    def where(self) -> str:
        """Its page, or the folder that `wandb sync` takes."""
        return str(self._run.url or self._run.dir.removesuffix("/files"))

    def log(self, env_steps: int, values: Mapping[str, float]) -> None:
        """Add one point to each curve; the x axis is env_steps."""
        self._run.log({STEP: env_steps, **values})

    def add_video(self, path: Path, env_steps: int) -> None:
        """Add a film to the run's media."""
        self._run.log({STEP: env_steps, f"videos/{path.stem}": self._wandb.Video(str(path), format="mp4")})

    def add_model(self, path: Path) -> None:
        """Add a model as an artifact of the run."""
        artifact = self._wandb.Artifact(f"{self._run.id}-{path.stem}", type="model")
        artifact.add_file(str(path))
        self._run.log_artifact(artifact)

    def close(self, state: str, results: Mapping[str, Setting]) -> None:
        """Write the summary and wait for what is still on its way."""
        self._run.summary.update({**results, "state": state})
        self._run.finish(exit_code=0 if state in (FINISHED, STOPPED) else 1)
