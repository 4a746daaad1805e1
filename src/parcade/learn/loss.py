"""PPO's objective on one minibatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import Policy

SHIFT_WEIGHT = 0.1  # of ``shift_loss`` in the whole, as in Raileanu and others (2021)


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
    ent_schedule: str = "constant"
    overlap: bool = False  # rollouts come from the weights before the last update
    shift_pixels: int = 0  # how far pictures are moved for ``shift_loss``; 0: it is left out

    def at(self, left: float) -> PpoSettings:
        """Return the numbers of an update while the share ``left`` of the training is still to come."""
        return replace(
            self,
            learning_rate=_scheduled(self.learning_rate, self.lr_schedule, left),
            clip_range=_scheduled(self.clip_range, self.clip_schedule, left),
            ent_coef=_scheduled(self.ent_coef, self.ent_schedule, left),
        )


def _scheduled(number: float, schedule: str, left: float) -> float:
    return number * (left if schedule == "linear" else 1.0)


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


def ppo_loss(policy: Policy, batch: Minibatch, settings: PpoSettings) -> Losses:
    """Return the clipped objective of one minibatch."""
    params, values = _outputs(policy, batch, batch.obs)
    acting = acting_loss(policy, params, batch, settings)
    value_loss = valuing_loss(values, batch, settings)
    total = acting.total + settings.vf_coef * value_loss
    if batch.shifted is not None:
        total = total + SHIFT_WEIGHT * shift_loss(policy, batch, batch.shifted, params.detach(), values.detach())
    return Losses(total, acting.policy, value_loss, acting.entropy, acting.log_ratio)


def _outputs(policy: Policy, batch: Minibatch, obs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    if batch.state is None or batch.starts is None:
        return policy(obs)  # type: ignore[no-any-return]
    return policy.unroll(obs, batch.state, batch.starts)


def shift_loss(
    policy: Policy, batch: Minibatch, shifted: Mapping[str, Tensor], params: Tensor, values: Tensor
) -> Tensor:
    """Return how much the policy and its value change when the pictures move: 0 where they do not.

    ``params`` and ``values`` are those of the pictures as they were, and stay where they are.
    """
    moved_params, moved_values = _outputs(policy, batch, shifted)
    wanted, _ = policy.distribution.evaluate(params, batch.actions)
    found, _ = policy.distribution.evaluate(moved_params, batch.actions)
    return approx_kl(found - wanted) + torch.nn.functional.mse_loss(moved_values, values)


class ActingLoss(NamedTuple):
    """What the actor alone answers for."""

    total: Tensor
    policy: Tensor
    entropy: Tensor
    log_ratio: Tensor


def acting_loss(policy: Policy, params: Tensor, batch: Minibatch, settings: PpoSettings) -> ActingLoss:
    """Return the clipped objective and the entropy of one minibatch."""
    log_probs, entropies = policy.distribution.evaluate(params, batch.actions)
    advantages, entropy = normalised(batch.advantages, settings), entropies.mean()
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
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


def told_of(tracked: Sequence[Tracked], clip_range: float) -> dict[str, float]:
    """Return what is told of the losses of an update's minibatches."""

    def mean(name: str) -> float:
        return float(torch.cat([getattr(losses, name).reshape(-1) for losses in tracked]).mean())

    log_ratio = torch.cat([losses.log_ratio for losses in tracked])
    return {
        "policy_loss": mean("policy"),
        "value_loss": mean("value"),
        "entropy": mean("entropy"),
        "approx_kl": float(approx_kl(log_ratio)),
        "clip_fraction": float((log_ratio.expm1().abs() > clip_range).float().mean()),
    }
