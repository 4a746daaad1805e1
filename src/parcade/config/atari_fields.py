"""Settings of Atari's usual preprocessing; the last two are for other Gymnasium envs too."""

from __future__ import annotations

from pydantic import BaseModel

from parcade.config.fields import setting


class AtariFields(BaseModel):
    """How an Atari game begins and ends, what a step sees and which action it takes."""

    noop_max: int = setting(
        0, "observation", "begin an episode with 1 to this many frames of no action (Atari)", ge=0, le=10_000
    )
    fire_on_reset: bool = setting(
        False, "observation", "press FIRE when an episode begins and after each lost life (Atari)"
    )
    terminal_on_life_loss: bool = setting(
        False, "observation", "end an episode when a life is lost, in training only (Atari)"
    )
    max_over_frames: bool = setting(
        False, "observation", "see the brighter pixels of a step's last two frames, against flicker (Gymnasium envs)"
    )
    sticky_actions: float | None = setting(
        None,
        "observation",
        "probability that a frame repeats the action before [the env's own; ALE/…-v5: 0.25] (Gymnasium envs)",
        ge=0,
        le=1,
    )
