"""Settings of a run: its seed, its folder, what is kept in it, how it is evaluated, on what it computes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, field_validator

from parcade.config.fields import setting


class RunFields(BaseModel):
    """Part of ``TrainSettings``."""

    seed: int = setting(0, "run", "run seed; the same seed gives the same numbers", ge=0, lt=2**31)
    run_name: str | None = setting(None, "run", "name of the run's folder under log_root [the game's name]")
    log_root: str = setting("results", "run", "folder for all runs")
    save_freq: int = setting(10_000, "run", "env steps between checkpoints; 0: only at the end", ge=0)
    keep_checkpoints: int = setting(3, "run", "number of checkpoints to keep", ge=1)
    keep_models: bool = setting(False, "run", "keep a model of every checkpoint: models/model_<env steps>.zip")
    episodes_mb: int = setting(
        64,
        "run",
        "megabytes for kept episodes: the newest, best, worst, and the first to reach a milestone; 0: none",
        ge=0,
        le=1 << 20,
    )
    eval_freq: int = setting(200_000, "run", "env steps between evaluations; 0: none", ge=0)
    n_eval_episodes: int = setting(10, "run", "episodes of each evaluation during training", ge=1)
    final_eval_episodes: int = setting(
        100, "run", "episodes of the evaluation at the end, on unseen seeds; 0: none", ge=0
    )
    eval_minutes: float = setting(
        5.0, "run", "minutes after which an evaluation ends; the episodes that ended until then count", gt=0, le=1e6
    )
    eval_deterministic: bool = setting(False, "run", "evaluate with the likeliest action instead of a sampled one")
    video: bool = setting(True, "run", "write an mp4 of the trained agent at the end")
    device: Literal["auto", "cpu", "cuda", "mps"] = setting("auto", "run", "device for the network")
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto", "run", "precision of convolutions; auto is bfloat16 on CUDA devices that support it, else float32"
    )
    num_threads: int | None = setting(
        None,
        "run",
        "threads for learning; auto: as measured by tune [pictures without shards: one for each core; else 1]",
        ge=1,
        le=1024,
    )

    @field_validator("run_name")
    @classmethod
    def _below_log_root(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or value.startswith("/") or ".." in value.split("/")):
            raise ValueError("wanted the name of a folder below log_root")
        return value
