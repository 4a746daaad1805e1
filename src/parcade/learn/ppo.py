"""Proximal policy optimisation: epochs of gradient steps over a rollout."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.advantage import gae
from parcade.learn.by_hand import GradientsByHand
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.loss import PpoSettings, Tracked, approx_kl, ppo_loss
from parcade.learn.minibatches import Minibatch, Minibatches
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import Policy
from parcade.learn.rollout import Rollout


class Learner:
    """Owns the policy and its optimiser."""

    def __init__(
        self,
        policy: Policy,
        settings: PpoSettings,
        shuffle: torch.Generator,
        *,
        return_scaler: ReturnScaler | None = None,
    ) -> None:
        self.policy, self.settings, self._return_scaler = policy, settings, return_scaler
        self._flat = FlatParameters(list(policy.parameters()))
        by_hand = policy.values_apart and next(policy.parameters()).device.type == "cpu"
        self._by_hand = GradientsByHand(policy, self._flat, settings) if by_hand else None
        self._minibatches = Minibatches(policy, settings.batch_size, shuffle)
        self.optimiser = FlatAdam(self._flat.weights, settings.learning_rate)

    def update(self, rollout: Rollout, *, lr_factor: float = 1.0, clip_factor: float = 1.0) -> dict[str, float]:
        """Take all epochs over the rollout; return what happened, as plain numbers."""
        settings = self.settings
        for group in self.optimiser.param_groups:
            group["lr"] = settings.learning_rate * lr_factor
        self._estimate_advantages(rollout)
        clip_range = settings.clip_range * clip_factor
        tracked: list[Tracked] = []
        epochs_done = 0
        for epoch in islice(self._minibatches.epochs(rollout), settings.n_epochs):
            for batch in epoch:
                tracked.append(self._descend(batch, clip_range))
            epochs_done += 1
            if settings.target_kl is not None and float(approx_kl(tracked[-1].log_ratio)) > 1.5 * settings.target_kl:
                break
        self.policy.observe(rollout.flat())  # only now: until here the policy was the one that collected
        numbers = _summary(tracked, rollout, clip_range)
        return {**numbers, "learning_rate": settings.learning_rate * lr_factor, "epochs": epochs_done}

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

    def _descend(self, batch: Minibatch, clip_range: float) -> Tracked:
        """Take one gradient step; return what is told of the loss."""
        if self._by_hand is not None:
            tracked = self._by_hand.take(batch, clip_range)
        else:
            losses = ppo_loss(self.policy, batch, self.settings, clip_range)
            self._flat.gradients_of(losses.total)
            tracked = losses.tracked()
        self._flat.clip_gradients(self.settings.max_grad_norm)
        self.optimiser.descend()
        return tracked

    def load_optimiser(self, state: dict[str, Any]) -> None:
        """Take over Adam's moments from a checkpoint; those of another network are refused."""
        size = self._flat.weights.shape
        moments = [state["state"].get(0, {}).get(name) for name in ("exp_avg", "exp_avg_sq")]
        if state["state"] and any(moment is None or moment.shape != size for moment in moments):
            raise ModelFileError("the checkpoint's optimiser does not belong to this network")
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": copy.deepcopy(state["state"])})

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint needs beside weights and optimiser; empty without return normalisation."""
        return {} if self._return_scaler is None else self._return_scaler.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        if self._return_scaler is not None:
            self._return_scaler.load_state(state)


def _summary(tracked: list[Tracked], rollout: Rollout, clip_range: float) -> dict[str, float]:
    def mean(name: str) -> float:
        return float(torch.cat([getattr(losses, name).reshape(-1) for losses in tracked]).mean())

    log_ratio = torch.cat([losses.log_ratio for losses in tracked])
    returns, values = rollout.returns.numpy(), rollout.values[:-1]
    spread = float(np.var(returns))
    return {
        "policy_loss": mean("policy"),
        "value_loss": mean("value"),
        "entropy": mean("entropy"),
        "approx_kl": float(approx_kl(log_ratio)),
        "clip_fraction": float((log_ratio.expm1().abs() > clip_range).float().mean()),
        "explained_variance": float(1 - np.var(returns - values) / spread) if spread > 0 else 0.0,
    }
