"""Cloning first, then PPO: one demonstration shows roughly what to do, rewards teach the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.advantage import FloatTN
from parcade.learn.imitation import Cloning
from parcade.learn.ppo import Ppo
from parcade.learn.sharded_ppo import ShardedPpo
from parcade.pool.actor import Actor
from parcade.pool.block import Block

_DONE = "cloned_updates"


class ClonedFirst:
    """Both algorithms over the same weights: ``n_updates`` of cloning, then PPO for the rest."""

    name = "cloning, ppo"
    can_be_given_up = True

    def __init__(self, cloning: Cloning, ppo: Ppo | ShardedPpo, n_updates: int) -> None:
        self.policy = ppo.policy
        self._cloning, self._ppo, self._n_updates, self._done = cloning, ppo, n_updates, 0

    @property
    def while_learning(self) -> Callable[[float], None]:
        """What hears the share of an update that is done."""
        return self._ppo.while_learning

    @while_learning.setter
    def while_learning(self, hear: Callable[[float], None]) -> None:
        self._cloning.while_learning = self._ppo.while_learning = hear

    @property
    def values(self) -> FloatTN | None:
        """What PPO expected of the last rollout's observations; None while cloning."""
        return self._ppo.values

    def actor(self) -> Actor:
        """Return the policy as workers run it."""
        return self._ppo.actor()

    def weights(self) -> npt.NDArray[np.float32]:
        """Return the weights the actor plays with."""
        return self._ppo.weights()

    def update(self, block: Block, left: float = 1.0) -> dict[str, float]:
        """Clone at first, at the full rate; then learn from the block."""
        if self._done < self._n_updates:
            self._done += 1
            return self._cloning.update(block, 1.0)
        return self._ppo.update(block, left)

    def state(self) -> dict[str, Tensor]:
        """Return how far cloning is, and what each of both needs."""
        parts = {f"cloning/{name}": value for name, value in self._cloning.state().items()}
        parts |= {f"ppo/{name}": value for name, value in self._ppo.state().items()}
        return {_DONE: torch.tensor([self._done]), **parts}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        if _DONE not in state:
            raise ModelFileError("the checkpoint does not say how far cloning was")
        for name, part in (("cloning/", self._cloning), ("ppo/", self._ppo)):
            part.load_state({key.removeprefix(name): value for key, value in state.items() if key.startswith(name)})
        self._done = int(state[_DONE][0])
