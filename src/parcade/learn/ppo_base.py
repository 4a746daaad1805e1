"""What PPO over one rollout and PPO over shards have in common."""

from __future__ import annotations

import torch

from parcade.learn.actors import PolicyPlays
from parcade.learn.advantage import FloatTN, gae
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.loss import PpoSettings, Tracked, ppo_loss
from parcade.learn.manual_backprop import ManualGradients
from parcade.learn.minibatches import Minibatch
from parcade.learn.policy import Policy
from parcade.learn.private_torch import has_backward_kernels
from parcade.learn.rollout import Rollout, agrees_with_actors, evaluate_rollout


class PpoBase(PolicyPlays):
    """The weights in one row, their gradient by a minibatch, and what a rollout is worth.

    ``settings.batch_size`` counts the rows of one minibatch.
    """

    name = "ppo"

    def __init__(self, policy: Policy, settings: PpoSettings) -> None:
        super().__init__(policy)
        self.settings = settings
        self.flat = FlatParameters(list(policy.parameters()))
        is_manual = policy.values_apart and policy.device.type == "cpu" and has_backward_kernels()
        self._manual = ManualGradients(policy, self.flat, settings.batch_size) if is_manual else None
        self.optimiser = FlatAdam(self.flat.weights, settings.learning_rate)
        self._trusts_actors: bool | None = None  # not known before the first rollout

    def _can_trust_actors(self, rollout: Rollout) -> bool:
        """Whether the actors' numbers are the learner's own, to the bit, or the best there are."""
        has_memory = bool(self.policy.state_size)  # its sums run over time: equal only to the last digits
        older = self.settings.overlap  # only the actors know how likely their choices were
        rows = min(self.settings.batch_size, rollout.env_steps)
        return has_memory or older or agrees_with_actors(self.policy, rollout, rows)

    def _evaluate(self, rollout: Rollout) -> None:
        """Fill in values and log probabilities."""
        trusts = bool(self._trusts_actors)
        evaluate_rollout(self.policy, rollout, trusts_actors=trusts, beat=lambda: self.while_learning(0.0))

    def _estimate_advantages(self, rollout: Rollout, rewards: FloatTN) -> None:
        ends, rates = (rollout.terminated, rollout.truncated), (self.settings.gamma, self.settings.gae_lambda)
        advantages, returns = gae(rewards, rollout.values, *ends, rollout.final_values, *rates)
        rollout.advantages.copy_(torch.from_numpy(advantages))
        rollout.returns.copy_(torch.from_numpy(returns))

    def _find_gradient(self, batch: Minibatch, settings: PpoSettings) -> Tracked:
        """Compute the gradient of a minibatch; return what is told of the loss."""
        if self._manual is not None:
            return self._manual.take(batch, settings)
        losses = ppo_loss(self.policy, batch, settings)
        self.flat.gradients_of(losses.total)
        return losses.tracked()

    def _step(self) -> None:
        """Take one step against the gradient."""
        self.flat.clip_gradients(self.settings.max_grad_norm)
        self.optimiser.descend()
