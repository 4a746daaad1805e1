"""Proximal policy optimisation."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.advantage import gae
from parcade.learn.flat import FlatParameters
from parcade.learn.minibatches import Minibatch, Minibatches
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import Policy
from parcade.learn.rollout import Rollout


@dataclass(frozen=True, slots=True)
class PpoSettings:
    """The numbers PPO is known by."""

    learning_rate: float = 3e-4
    batch_size: int = 256
    n_epochs: int = 4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    clip_range_vf: float | None = None
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    normalize_advantage: bool = True
    target_kl: float | None = None


@dataclass(frozen=True, slots=True)
class Losses:
    """The parts of one minibatch's loss, as tensors."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    log_ratio: Tensor  # (rows,): log of new over old probability of each action

    def detached(self) -> Losses:
        """Return the numbers without what they were computed from."""
        return Losses(*(getattr(self, name).detach() for name in Losses.__slots__))


def ppo_loss(policy: Policy, batch: Minibatch, settings: PpoSettings, clip_range: float) -> Losses:
    """Return the clipped objective of one minibatch."""
    if batch.state is None or batch.starts is None:
        params, values = policy(batch.obs)
    else:
        params, values = policy.unroll(batch.obs, batch.state, batch.starts)
    log_probs, entropies = policy.distribution.evaluate(params, batch.actions)
    advantages, entropy = batch.advantages, entropies.mean()
    if settings.normalize_advantage and len(advantages) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
    if settings.clip_range_vf is not None:
        limit = settings.clip_range_vf
        values = batch.values + (values - batch.values).clamp(-limit, limit)
    value_loss = torch.nn.functional.mse_loss(values, batch.returns)
    total = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss
    return Losses(total, policy_loss, value_loss, entropy, log_ratio)


def approx_kl(log_ratio: Tensor) -> Tensor:
    """Return the mean divergence of new from old, by the estimator that is never negative."""
    return (log_ratio.expm1() - log_ratio).mean()


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
        self._minibatches = Minibatches(policy, settings.batch_size, shuffle)
        self.optimiser = torch.optim.Adam([self._flat.weights], lr=settings.learning_rate, eps=1e-5, fused=True)

    def update(self, rollout: Rollout, *, lr_factor: float = 1.0, clip_factor: float = 1.0) -> dict[str, float]:
        """Take all epochs over the rollout; return what happened, as plain numbers."""
        settings = self.settings
        for group in self.optimiser.param_groups:
            group["lr"] = settings.learning_rate * lr_factor
        self._estimate_advantages(rollout)
        clip_range = settings.clip_range * clip_factor
        tracked: list[Losses] = []
        epochs_done = 0
        for epoch in islice(self._minibatches.epochs(rollout), settings.n_epochs):
            for batch in epoch:
                losses = ppo_loss(self.policy, batch, settings, clip_range)
                self._descend(losses.total)
                tracked.append(losses.detached())
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

    def _descend(self, loss: Tensor) -> None:
        self._flat.gradients_of(loss)
        self._flat.clip_gradients(self.settings.max_grad_norm)
        self.optimiser.step()

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


def _summary(tracked: list[Losses], rollout: Rollout, clip_range: float) -> dict[str, float]:
    def mean(name: str) -> float:
        return float(torch.stack([getattr(losses, name) for losses in tracked]).mean())

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
