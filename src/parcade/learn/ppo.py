"""Proximal policy optimisation: epochs of gradient steps over a rollout."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.loss import PpoSettings, Tracked, approx_kl, told_of
from parcade.learn.minibatches import Minibatches
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import Policy
from parcade.learn.ppo_base import PpoBase
from parcade.learn.rollout import Rollout
from parcade.learn.shifting import RandomShift
from parcade.pool.block import Block


class Ppo(PpoBase):
    """PPO as an ``Algorithm``."""

    def __init__(
        self, policy: Policy, settings: PpoSettings, seed: int = 0, *, return_scaler: ReturnScaler | None = None
    ) -> None:
        super().__init__(policy, settings)
        self._return_scaler = return_scaler
        self._shuffle = torch.Generator().manual_seed(seed)
        shift = RandomShift(policy, settings.shift_pixels, self._shuffle) if settings.shift_pixels else None
        self.minibatches = Minibatches(policy, settings.batch_size, self._shuffle, shift)

    def update(self, block: Block, left: float = 1.0) -> dict[str, float]:
        """Take all epochs over the block; return what happened, as plain numbers."""
        rollout = self.prepare(block)
        self.values = rollout.values
        return self.learn(rollout, left)

    def learn(self, rollout: Rollout, left: float = 1.0) -> dict[str, float]:
        """Take all epochs over a rollout that ``prepare`` returned."""
        settings = self.settings.at(left)
        self.optimiser.learning_rate = settings.learning_rate
        tracked: list[Tracked] = []
        epochs_done, in_epoch = 0, self.minibatches.in_epoch(rollout)
        for epoch in islice(self.minibatches.epochs(rollout), settings.n_epochs):
            for batch in epoch:
                tracked.append(self._find_gradient(batch, settings))
                self._step()
                self.while_learning(min(1.0, len(tracked) / (in_epoch * settings.n_epochs)))
            epochs_done += 1
            if settings.target_kl is not None and float(approx_kl(tracked[-1].log_ratio)) > 1.5 * settings.target_kl:
                break
        self.policy.observe(rollout.flat())  # only now: until here the policy was the one that played
        told = _summary(tracked, rollout, settings.clip_range)
        return {**told, "learning_rate": settings.learning_rate, "epochs": epochs_done}

    def prepare(self, block: Block) -> Rollout:
        """Return the block with values, log probabilities and advantages."""
        rollout = Rollout(block)
        if self._trusts_actors is None:
            self._trusts_actors = self._can_trust_actors(rollout)
        self._evaluate(rollout)
        scaler, rewards = self._return_scaler, rollout.rewards
        self._estimate_advantages(rollout, rewards if scaler is None else scaler.scale(rewards, rollout.ended))
        return rollout

    def state(self) -> dict[str, Tensor]:
        """Return Adam's moments, the shuffle's state and the scale of returns."""
        scale = {} if self._return_scaler is None else self._return_scaler.state()
        return {"shuffle": self._shuffle.get_state(), **self.optimiser.moments(), **scale}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        if "shuffle" not in state:
            raise ModelFileError("the checkpoint holds no state of the shuffle")
        self.optimiser.load_moments(state)
        self._shuffle.set_state(state["shuffle"])
        if self._return_scaler is not None:
            self._return_scaler.load_state(state)


def _summary(tracked: list[Tracked], rollout: Rollout, clip_range: float) -> dict[str, float]:
    returns, values = rollout.returns.numpy(), rollout.values[:-1]
    with np.errstate(over="ignore", invalid="ignore"):  # told as losses that are no numbers
        spread = float(np.var(returns))
        explained = float(1 - np.var(returns - values) / spread) if spread > 0 else 0.0
    return {**told_of(tracked, clip_range), "explained_variance": explained}
