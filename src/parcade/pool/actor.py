"""What chooses actions where the envs are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from parcade.pool.sharing import TILE

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ActorShape:
    """What an actor keeps in the block: its weights, and for each step and slot what it leaves behind."""

    n_weights: int = 0
    state_size: int = 0  # numbers of memory
    n_params: int = 0  # numbers that describe the distribution an action was drawn from
    drawn_shape: tuple[int, ...] | None = None  # of an action as it was drawn, before the env's form of it
    drawn_dtype: str = "<i8"
    has_values: bool = False
    n_together: int = TILE  # slots whose actions are chosen in one call; more are quicker to compute, fewer to emulate


class ActorRows(NamedTuple):
    """One step of some slots as an actor sees it; the lower part is for the actor to write."""

    step: int  # the row of the block
    obs: Mapping[str, Array]
    episode_seed: Array  # (slots,)
    episode_step: Array  # (slots,) steps the episode has taken; 0 at its start
    memory: Array  # (slots, state_size) after the step before; means nothing where episode_step is 0
    memory_after: Array
    params: Array  # (slots, n_params)
    value: Array  # (slots,)
    drawn: Array  # (slots, ...)


Choose = Callable[[ActorRows], Any]  # returns one action for each slot, in the structure of the action space


class Actor(Protocol):
    """Chooses actions. Picklable; a worker that runs it imports what it needs.

    A slot's action must depend on the weights, the seed, the episode's seed and step, and the slot's own rows alone:
    the numbers are then the same for any number of workers, and after a worker's death.
    """

    @property
    def shape(self) -> ActorShape:
        """What the block has to hold for it."""
        ...

    def prepare(self, weights: Array, seed: int, slots: range) -> Choose:
        """Return what chooses the actions of these slots until the weights change."""
        ...
