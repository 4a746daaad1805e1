"""Proximal policy optimisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parcade.learn.advantage import gae
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
    approx_kl: Tensor
    clip_fraction: Tensor


def ppo_loss(
    policy: Policy,
    obs: dict[str, Tensor],
    actions: Tensor,
    old_log_probs: Tensor,
    old_values: Tensor,
    advantages: Tensor,
    returns: Tensor,
    settings: PpoSettings,
    clip_range: float,
) -> Losses:
    """Return the clipped objective of one minibatch."""
    params, values = policy(obs)
    log_probs = policy.distribution.log_prob(params, actions)
    entropy = policy.distribution.entropy(params).mean()
    if settings.normalize_advantage and len(advantages) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    log_ratio = log_probs - old_log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
    if settings.clip_range_vf is not None:
        values = old_values + (values - old_values).clamp(-settings.clip_range_vf, settings.clip_range_vf)
    value_loss = (returns - values).square().mean()
    total = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss
    with torch.no_grad():
        approx_kl = ((ratio - 1) - log_ratio).mean()
        clip_fraction = ((ratio - 1).abs() > clip_range).float().mean()
    return Losses(total, policy_loss, value_loss, entropy, approx_kl, clip_fraction)


class Learner:
    """Owns the policy and its optimiser."""

    def __init__(self, policy: Policy, settings: PpoSettings, shuffle: torch.Generator) -> None:
        self.policy, self.settings, self._shuffle = policy, settings, shuffle
        self._device = next(policy.parameters()).device
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=settings.learning_rate, eps=1e-5, fused=True)

    def update(self, rollout: Rollout, *, lr_factor: float = 1.0, clip_factor: float = 1.0) -> dict[str, float]:
        """Take all epochs over the rollout; return what happened, as plain numbers."""
        settings = self.settings
        for group in self.optimiser.param_groups:
            group["lr"] = settings.learning_rate * lr_factor
        advantages, returns = gae(
            rollout.rewards,
            rollout.values,
            rollout.terminated,
            rollout.truncated,
            rollout.final_values,
            settings.gamma,
            settings.gae_lambda,
        )
        rollout.advantages.copy_(torch.from_numpy(advantages))
        rollout.returns.copy_(torch.from_numpy(returns))
        tracked: list[Losses] = []
        epochs_done = 0
        for epoch in self._epochs(rollout, settings.clip_range * clip_factor):
            tracked += epoch
            epochs_done += 1
            if settings.target_kl is not None and float(tracked[-1].approx_kl) > 1.5 * settings.target_kl:
                break
        return _summary(tracked, rollout, epochs_done, settings.learning_rate * lr_factor)

    def _epochs(self, rollout: Rollout, clip_range: float) -> Iterator[list[Losses]]:
        obs = rollout.flat()
        actions, old_log_probs = rollout.actions.flatten(0, 1), rollout.log_probs.flatten()
        old_values = torch.from_numpy(rollout.values[:-1]).flatten()
        advantages, returns = rollout.advantages.flatten(), rollout.returns.flatten()
        for _ in range(self.settings.n_epochs):
            order = torch.randperm(rollout.env_steps, generator=self._shuffle)
            losses = []
            for rows in order.split(self.settings.batch_size):
                take: Callable[[Tensor], Tensor] = lambda tensor, rows=rows: tensor.index_select(0, rows).to(self._device)  # type: ignore[misc]  # noqa: E731
                loss = ppo_loss(
                    self.policy,
                    {name: take(tensor) for name, tensor in obs.items()},
                    take(actions),
                    take(old_log_probs),
                    take(old_values),
                    take(advantages),
                    take(returns),
                    self.settings,
                    clip_range,
                )
                self._descend(loss.total)
                losses.append(Losses(*(getattr(loss, name).detach() for name in Losses.__slots__)))
            yield losses

    def _descend(self, loss: Tensor) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.max_grad_norm)
        self.optimiser.step()

    def load_optimiser(self, state: dict[str, Any]) -> None:
        """Take over Adam's moments from a checkpoint."""
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state["state"]})


def _summary(tracked: list[Losses], rollout: Rollout, epochs: int, learning_rate: float) -> dict[str, float]:
    def mean(name: str) -> float:
        return float(torch.stack([getattr(losses, name) for losses in tracked]).mean())

    returns, values = rollout.returns.numpy(), rollout.values[:-1]
    spread = float(np.var(returns))
    return {
        "policy_loss": mean("policy"),
        "value_loss": mean("value"),
        "entropy": mean("entropy"),
        "approx_kl": mean("approx_kl"),
        "clip_fraction": mean("clip_fraction"),
        "explained_variance": float(1 - np.var(returns - values) / spread) if spread > 0 else 0.0,
        "learning_rate": learning_rate,
        "epochs": epochs,
    }
