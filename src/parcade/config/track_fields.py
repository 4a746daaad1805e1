"""Settings that say where a run is told besides its folder."""

from __future__ import annotations

from pydantic import BaseModel, field_validator

from parcade.config.fields import setting
from parcade.errors import did_you_mean

TRACKER_NAMES = ("wandb", "mlflow", "trackio")


class TrackFields(BaseModel):
    """Part of ``TrainSettings``."""

    track: tuple[str, ...] = setting(
        (), "run", "services that get the run too: wandb, mlflow, trackio, or several with commas"
    )
    track_project: str = setting("parcade", "run", "project (wandb, trackio) or experiment (mlflow) of the entry")

    @field_validator("track")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in TRACKER_NAMES:
                raise ValueError(f"wanted {', '.join(TRACKER_NAMES)}{did_you_mean(name, TRACKER_NAMES)}")
        return tuple(dict.fromkeys(value))

    @field_validator("track_project")
    @classmethod
    def _some_name(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("wanted a name")
        return value
