"""Settings of the coach: a language model that looks at a training with a guide now and then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import BaseModel, field_validator, model_validator

from parcade.config.fields import setting
from parcade.config.llm_address import KEY_VARIABLE, check_key_variable, checked_url
from parcade.errors import did_you_mean


@dataclass(frozen=True, slots=True)
class CoachSettings:
    """When a coach is asked and what it may do; updates are counted from 1."""

    every: int = 50  # updates between two questions
    effect: int = 10  # updates from a question until its answer takes effect
    places: int = 16  # milestones that it may add in all
    episodes: int = 20  # that must have ended before shares are trusted
    fall: float = 0.05  # of the mean share, by which a revision is rolled back
    rounds: int = 2  # answers to ask for until one has no fault


_LIMITS: Mapping[str, tuple[float, float]] = {
    "every": (2, 1_000_000),
    "effect": (1, 999_999),
    "places": (0, 48),
    "episodes": (1, 100),
    "fall": (0, 1),
    "rounds": (1, 10),
}


class CoachFields(BaseModel):
    """Part of ``TrainSettings``."""

    coach: dict[str, Any] = setting(
        {},
        "coach",
        "ask a language model to revise the guide: every=50,effect=10 (updates), places=16, episodes=20, fall=0.05, "
        "rounds=2 (docs/guide.md)",
    )
    llm: str | None = setting(
        None, "coach", "address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1 [the small model]"
    )
    llm_model: str | None = setting(None, "coach", "name of the model on that server")
    llm_key_env: str = setting(KEY_VARIABLE, "coach", "environment variable that holds the server's key, if it has one")
    llm_seconds: float | None = setting(
        None, "coach", "deadline of one answer in seconds [120; the small model: 600]", gt=0, le=3600
    )
    coach_replay: str | None = setting(None, "coach", "run whose recorded answers are used again; no model is asked")

    @field_validator("coach")
    @classmethod
    def _coach_keys(cls, value: dict[str, Any]) -> dict[str, Any]:
        made = coach_settings(value)
        if value and made.effect >= made.every:
            raise ValueError(f"wanted effect {made.effect} to be less than every {made.every}")
        return value

    @model_validator(mode="after")
    def _coach_fits(self) -> CoachFields:
        """Check what belongs together; no fault repeats an address or a name, which may hold a secret."""
        check_key_variable(self.llm_key_env)
        if self.llm is not None:
            checked_url(self.llm)
            if self.llm_model is None:
                raise ValueError("llm needs the model's name too: llm_model")
        elif self.llm_model is not None:
            raise ValueError("llm_model names a model of a server; add llm, the server's address")
        if self.coach and getattr(self, "guide", None) is None:
            raise ValueError("coach revises a guide, and there is none; add guide")
        for name in ("llm", "coach_replay"):
            if getattr(self, name) is not None and not self.coach:
                raise ValueError(f"{name} is for a coach; add coach, such as every=50")
        return self


def coach_settings(given: Mapping[str, Any]) -> CoachSettings:
    """Return the coach's settings; raise ValueError for unknown ones and for values out of range."""
    known = {field.name: field for field in fields(CoachSettings)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"there is no {name[:100]!r}{did_you_mean(name[:100], known)}; wanted {', '.join(known)}")
        (low, high), is_whole = _LIMITS[name], name != "fall"
        fits = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not fits or not low <= value <= high:
            raise ValueError(f"wanted {name} to be a {'whole ' if is_whole else ''}number from {low:g} to {high:g}")
    return CoachSettings(**given)
