"""What happens in a training, one record for each kind of thing; progress, trackers and logs listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcade.config.settings import TrainSettings
    from parcade.run.directory import RunFolder
    from parcade.train.evaluation import EpisodeResult, Evaluation
    from parcade.train.results import TrainResult


@dataclass(frozen=True, slots=True)
class Opening:
    """The games are about to start."""

    settings: TrainSettings


@dataclass(frozen=True, slots=True)
class Started:
    """The first rollout is about to begin; ``env_steps`` are those of earlier parts of the run."""

    settings: TrainSettings
    folder: RunFolder
    env_steps: int
    n_workers: int
    trained_in: str
    evaluated_in: str


@dataclass(frozen=True, slots=True)
class Playing:
    """The games are in the middle of a rollout; told now and then."""

    env_steps: int
    rollout: int  # steps of a whole one


@dataclass(frozen=True, slots=True)
class Updated:
    """An update is over; ``row`` is its line of metrics.jsonl."""

    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvaluationStarted:
    """An evaluation of so many episodes begins."""

    episodes: int


@dataclass(frozen=True, slots=True)
class EpisodeEvaluated:
    """One more episode of an evaluation has ended."""

    done: int
    of: int
    episode: EpisodeResult


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation is over."""

    env_steps: int
    result: Evaluation


@dataclass(frozen=True, slots=True)
class EvaluationFailed:
    """An evaluation could not be played; training goes on."""

    env_steps: int
    reason: str


@dataclass(frozen=True, slots=True)
class Stopping:
    """Somebody asked the training to end: Ctrl-C, or the signal with this number."""

    number: int = 2


@dataclass(frozen=True, slots=True)
class Finished:
    """Models, report and summary are written."""

    result: TrainResult
    evaluation: Evaluation | None
    n_envs: int
    n_workers: int


Event = (
    Opening
    | Started
    | Playing
    | Updated
    | EvaluationStarted
    | EpisodeEvaluated
    | Evaluated
    | EvaluationFailed
    | Stopping
    | Finished
)
Listener = Callable[[Event], None]
