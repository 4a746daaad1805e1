"""What the trainer and its learners say to each other."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.pool.actor import Array

Arrays = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Holding:
    """Which shards one learner holds, and which slots of the training they are."""

    learner: int
    n_learners: int
    shards: range
    slots: range


def holding(settings: TrainSettings, learner: int, n_learners: int) -> Holding:
    """Return the shards of one learner: as many as every other's, neighbours."""
    per_learner, per_shard = settings.shards // n_learners, settings.envs // settings.shards
    shards = range(learner * per_learner, (learner + 1) * per_learner)
    return Holding(learner, n_learners, shards, range(shards.start * per_shard, shards.stop * per_shard))


@dataclass(frozen=True, slots=True)
class LearnerOrders:
    """Everything a learner needs to know, picklable."""

    settings: TrainSettings
    spec: EnvSpec
    holding: Holding
    n_workers: int  # of this learner's own pool; 0 plays in the learner itself


@dataclass(frozen=True, slots=True)
class Meet:
    """Make the policy and what trains it; ``place`` says where gradients are exchanged. The answer is ``Met``."""

    place: Any


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Go to where a training is: weights, the algorithm's state, and the games of this learner. Answered by ``Placed``.

    ``games`` None leaves the games where they are.
    """

    weights: Mapping[str, Tensor]
    state: Mapping[str, Tensor]
    games: Arrays | None


@dataclass(frozen=True, slots=True)
class Play:
    """Play a rollout; answered by ``Played``."""


@dataclass(frozen=True, slots=True)
class Learn:
    """Learn from the last rollout, together with all others; answered by ``Learned`` or ``Abandoned``."""

    left: float
    attempt: int  # a number of its own for each time that all learners begin together


@dataclass(frozen=True, slots=True)
class Ask:
    """Reach envs, by their slots in this learner's pool; answered by ``Answered``."""

    slots: tuple[int, ...]
    what: str
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """The games are there."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    metric_names: tuple[str, ...]
    n_workers: int


@dataclass(frozen=True, slots=True)
class Met:
    """The learner is ready; this is the algorithm's first state."""

    state: Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Placed:
    """The learner is where it was told to be; how far its games are."""

    status: Arrays


@dataclass(frozen=True, slots=True)
class Played:
    """A rollout without its observations."""

    rows: Arrays  # of the block, (T, n, ...)
    memory: Array  # (n, state_size) after the last step
    status: Arrays
    restarts: tuple[str, ...]  # all deaths of the pool's workers
    cut: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Learned:
    """An update is done."""

    losses: Mapping[str, float]
    check: int  # of the weights: every learner must have the same
    state: Mapping[str, Tensor]  # the algorithm's; of learners but the first only what is theirs alone
    weights: Mapping[str, Tensor] | None  # of the first learner


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The update was given up: another learner is gone, or cannot be reached."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """What envs answered, by slot."""

    answers: Mapping[int, tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Failed:
    """The learner raised; its name and text are those of the exception."""

    kind: str
    text: str
    trace: str


@dataclass(frozen=True, slots=True)
class Death:
    """A learner is gone."""

    words: str


class _Pickler(pickle.Pickler):
    """Writes tensors as arrays: torch's own way takes nine times as long, and a pipe's would share their memory."""

    def reducer_override(self, value: Any) -> Any:
        """Return how a tensor is made again; everything else goes its usual way."""
        if isinstance(value, Tensor):
            return torch.from_numpy, (value.detach().numpy(),)
        return NotImplemented


def by_value(message: Any) -> bytes:
    """Return a message by value."""
    into = io.BytesIO()
    _Pickler(into, pickle.HIGHEST_PROTOCOL).dump(message)
    return into.getvalue()
