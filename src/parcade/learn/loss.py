"""PPO's objective on one minibatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import Policy


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
    lr_schedule: str = "constant"
    clip_schedule: str = "constant"
    overlap: bool = False  # rollouts come from the weights before the last update


class Tracked(NamedTuple):
    """What is told of a minibatch's loss, without what it was computed from; each a mean, or a number for each row."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    log_ratio: Tensor


class Losses(NamedTuple):
    """One minibatch's loss and its parts."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    log_ratio: Tensor  # (rows,): log of new over old probability of each action

    def tracked(self) -> Tracked:
        """Return what is told of it."""
        return Tracked(*(part.detach() for part in self[1:]))


def ppo_loss(policy: Policy, batch: Minibatch, settings: PpoSettings, clip_range: float) -> Losses:
    """Return the clipped objective of one minibatch."""
    if batch.state is None or batch.starts is None:
        params, values = policy(batch.obs)
    else:
        params, values = policy.unroll(batch.obs, batch.state, batch.starts)
    acting = acting_loss(policy, params, batch, settings, clip_range)
    value_loss = valuing_loss(values, batch, settings)
    total = acting.total + settings.vf_coef * value_loss
    return Losses(total, acting.policy, value_loss, acting.entropy, acting.log_ratio)


class ActingLoss(NamedTuple):
    """What the actor alone answers for."""

    total: Tensor
    policy: Tensor
    entropy: Tensor
    log_ratio: Tensor


def acting_loss(
    policy: Policy, params: Tensor, batch: Minibatch, settings: PpoSettings, clip_range: float
) -> ActingLoss:
    """Return the clipped objective and the entropy of one minibatch."""
    log_probs, entropies = policy.distribution.evaluate(params, batch.actions)
    advantages, entropy = normalised(batch.advantages, settings), entropies.mean()
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
    return ActingLoss(policy_loss - settings.ent_coef * entropy, policy_loss, entropy, log_ratio)


def normalised(advantages: Tensor, settings: PpoSettings) -> Tensor:
    """Return a minibatch's advantages with mean 0 and standard deviation 1, where that is asked for."""
    if not settings.normalize_advantage or len(advantages) < 2:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def valuing_loss(values: Tensor, batch: Minibatch, settings: PpoSettings) -> Tensor:
    """Return the squared error of the values, which may be held near the old ones."""
    if settings.clip_range_vf is not None:
        limit = settings.clip_range_vf
        values = batch.values + (values - batch.values).clamp(-limit, limit)
    return torch.nn.functional.mse_loss(values, batch.returns)


def approx_kl(log_ratio: Tensor) -> Tensor:
    """Return the mean divergence of new from old, by the estimator that is never negative."""
    return (log_ratio.expm1() - log_ratio).mean()
