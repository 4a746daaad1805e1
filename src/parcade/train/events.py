"""What happens in a training, one record for each kind of thing; progress, trackers and logs listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcade.config.settings import TrainSettings
    from parcade.run.directory import RunFolder
    from parcade.train.episode_parts import EpisodeResult
    from parcade.train.evaluation import Evaluation
    from parcade.train.results import TrainResult


@dataclass(frozen=True, slots=True)
class Opening:
    """The games are about to start."""

    settings: TrainSettings


@dataclass(frozen=True, slots=True)
class Replaying:
    """Demonstrations are being played again, before the first rollout; told now and then."""

    steps: int
    of: int


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
class Learning:
    """An update is under way; told now and then."""

    env_steps: int
    rollout: int  # steps it learns from
    share: float  # of the update that is done, 0 to 1


@dataclass(frozen=True, slots=True)
class Updated:
    """An update is over; ``row`` is its line of metrics.jsonl, ``curves`` its points by TensorBoard's names."""

    row: dict[str, Any]
    curves: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moved:
    """The games have moved to other workers."""

    before: int
    n_workers: int
    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Coached:
    """A coach's answer was used or not, or its last revision was judged: ``what`` is a word of run/coach_record.py."""

    update: int
    what: str
    words: str
    shares: dict[str, float]  # of the guide's milestones at that moment


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
    """An evaluation could not be played; training goes on, unless it was the last one."""

    env_steps: int
    reason: str
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Filming:
    """The trained agent is being filmed; so many steps are in the video."""

    steps: int


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
    dropped_steps: int = 0  # of a rollout that was given up
    evaluation_failed: str = ""  # why there is no final evaluation
    resume_command: str = ""


Event = (
    Opening
    | Replaying
    | Started
    | Playing
    | Learning
    | Updated
    | Moved
    | Coached
    | EvaluationStarted
    | EpisodeEvaluated
    | Evaluated
    | EvaluationFailed
    | Filming
    | Stopping
    | Finished
)
Listener = Callable[[Event], None]
