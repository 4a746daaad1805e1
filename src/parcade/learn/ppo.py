"""Proximal policy optimisation: epochs of gradient steps over a rollout."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.actors import PolicyPlays
from parcade.learn.advantage import gae
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.loss import PpoSettings, Tracked, approx_kl, ppo_loss
from parcade.learn.manual_backprop import ManualGradients
from parcade.learn.minibatches import Minibatch, Minibatches
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import Policy
from parcade.learn.private_torch import has_backward_kernels
from parcade.learn.rollout import Rollout, agrees_with_actors, evaluate_rollout
from parcade.learn.shifting import RandomShift
from parcade.pool.block import Block


class Ppo(PolicyPlays):
    """PPO as an ``Algorithm``."""

    name = "ppo"

    def __init__(
        self, policy: Policy, settings: PpoSettings, seed: int = 0, *, return_scaler: ReturnScaler | None = None
    ) -> None:
        super().__init__(policy)
        self.settings, self._return_scaler = settings, return_scaler
        self.flat = FlatParameters(list(policy.parameters()))
        by_hand = policy.values_apart and policy.device.type == "cpu" and has_backward_kernels()
        self._manual = ManualGradients(policy, self.flat, settings.batch_size) if by_hand else None
        self._shuffle = torch.Generator().manual_seed(seed)
        shift = RandomShift(policy, settings.shift_pixels, self._shuffle) if settings.shift_pixels else None
        self.minibatches = Minibatches(policy, settings.batch_size, self._shuffle, shift)
        self.optimiser = FlatAdam(self.flat.weights, settings.learning_rate)
        self._trusts_actors: bool | None = None  # not known before the first rollout
        self.values: npt.NDArray[np.float32] | None = None  # (T + 1, N) of the last rollout's observations

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
                tracked.append(self._descend(batch, settings))
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
            n_rows = min(self.settings.batch_size, rollout.env_steps)
            has_memory = bool(self.policy.state_size)  # its sums run over time: equal only to the last digits
            older = self.settings.overlap  # only the actors know how likely their choices were
            self._trusts_actors = has_memory or older or agrees_with_actors(self.policy, rollout, n_rows)
        evaluate_rollout(self.policy, rollout, trusts_actors=self._trusts_actors, beat=lambda: self.while_learning(0.0))
        self._estimate_advantages(rollout)
        return rollout

    def _estimate_advantages(self, rollout: Rollout) -> None:
        settings, rewards = self.settings, rollout.rewards
        if self._return_scaler is not None:
            rewards = self._return_scaler.scale(rewards, rollout.ended)
        advantages, returns = gae(
            rewards,
            rollout.values,
            rollout.terminated,
            rollout.truncated,
            rollout.final_values,
            settings.gamma,
            settings.gae_lambda,
        )
        rollout.advantages.copy_(torch.from_numpy(advantages))
        rollout.returns.copy_(torch.from_numpy(returns))

    def _descend(self, batch: Minibatch, settings: PpoSettings) -> Tracked:
        """Take one gradient step; return what is told of the loss."""
        if self._manual is not None:
            tracked = self._manual.take(batch, settings)
        else:
            losses = ppo_loss(self.policy, batch, settings)
            self.flat.gradients_of(losses.total)
            tracked = losses.tracked()
        self.flat.clip_gradients(settings.max_grad_norm)
        self.optimiser.descend()
        return tracked

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
    def mean(name: str) -> float:
        return float(torch.cat([getattr(losses, name).reshape(-1) for losses in tracked]).mean())

    log_ratio = torch.cat([losses.log_ratio for losses in tracked])
    returns, values = rollout.returns.numpy(), rollout.values[:-1]
    with np.errstate(over="ignore", invalid="ignore"):  # told as losses that are no numbers
        spread = float(np.var(returns))
        explained = float(1 - np.var(returns - values) / spread) if spread > 0 else 0.0
    return {
        "policy_loss": mean("policy"),
        "value_loss": mean("value"),
        "entropy": mean("entropy"),
        "approx_kl": float(approx_kl(log_ratio)),
        "clip_fraction": float((log_ratio.expm1().abs() > clip_range).float().mean()),
        "explained_variance": explained,
    }
