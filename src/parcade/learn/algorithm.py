"""What turns a block into better weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from parcade.learn.advantage import FloatTN
from parcade.learn.policy import Policy
from parcade.pool.actor import Actor
from parcade.pool.block import Block


class Algorithm(Protocol):
    """Owns a policy and improves it; the training loop knows nothing else of it."""

    name: str  # stands in model files and checkpoints
    policy: Policy
    can_be_given_up: bool  # whether an update calls ``while_learning``; what that raises ends the update
    while_learning: Callable[[float], None]  # hears the share of an update that is done

    @property
    def values(self) -> FloatTN | None:
        """(T + 1, N): what the last rollout's observations were expected to be worth; None: not known here."""
        ...

    def actor(self) -> Actor:
        """Return what plays the next rollout."""
        ...

    def weights(self) -> npt.NDArray[np.float32]:
        """Return the weights the actor plays with, as they are now."""
        ...

    def update(self, block: Block, left: float) -> dict[str, float]:
        """Learn from a block; ``left`` is the share of the training that is still to come, for schedules."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint needs beside the policy's weights."""
        ...

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned; what belongs to another training is refused."""
        ...
