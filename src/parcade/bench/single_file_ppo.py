"""PPO as one readable loop over Gymnasium's SyncVectorEnv, in the style CleanRL made known; a peer of `bench train`.

What makes the style: everything in one place, rollouts in float tensors, one env call and one network call per step,
plain PyTorch for the rest. The code is our own.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5


class SingleFilePpo:
    """A network, its rollout and its optimiser; ``update`` collects and learns once."""

    def __init__(
        self,
        network: nn.Module,
        vector_env: Any,
        n_steps: int,
        batch_size: int,
        n_epochs: int,
        learning_rate: float = 3e-4,
    ) -> None:
        self._network, self._env, self._batch_size, self._n_epochs = network, vector_env, batch_size, n_epochs
        self._optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate, eps=1e-5)
        self._shuffle = np.random.default_rng([0])
        n_envs, shape = vector_env.num_envs, vector_env.single_observation_space.shape
        self._obs = torch.zeros((n_steps, n_envs, *shape))
        self._actions = torch.zeros((n_steps, n_envs), dtype=torch.int64)
        self._log_probs, self._rewards, self._dones, self._values = torch.zeros((4, n_steps, n_envs))
        self._next_obs = torch.as_tensor(vector_env.reset(seed=0)[0], dtype=torch.float32)
        self._next_done = torch.zeros(n_envs)

    def update(self) -> float:
        """Collect one rollout and learn from it; return env steps per second."""
        started = time.perf_counter()
        self._collect()
        self._learn(*self._advantages())
        rows: int = self._rewards.numel()
        return rows / (time.perf_counter() - started)

    def _collect(self) -> None:
        for step in range(len(self._obs)):
            self._obs[step], self._dones[step] = self._next_obs, self._next_done
            with torch.no_grad():
                logits, self._values[step] = self._network(self._next_obs)
                policy = _distribution(logits)
                action = policy.sample()
            self._actions[step], self._log_probs[step] = action, policy.log_prob(action)
            obs, reward, terminated, truncated, _ = self._env.step(action.numpy())
            self._rewards[step] = torch.as_tensor(reward, dtype=torch.float32)
            self._next_obs = torch.as_tensor(obs, dtype=torch.float32)
            self._next_done = torch.as_tensor(np.logical_or(terminated, truncated), dtype=torch.float32)

    def _advantages(self) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            value, done = self._network(self._next_obs)[1], self._next_done
        advantages, carried = torch.zeros_like(self._rewards), torch.zeros_like(done)
        for step in reversed(range(len(self._rewards))):
            goes_on = 1.0 - done
            surprise = self._rewards[step] + GAMMA * value * goes_on - self._values[step]
            carried = surprise + GAMMA * LAMBDA * goes_on * carried
            advantages[step] = carried
            value, done = self._values[step], self._dones[step]
        return advantages, advantages + self._values

    def _learn(self, advantages: Tensor, returns: Tensor) -> None:
        obs = self._obs.flatten(0, 1)
        flat = [part.flatten() for part in (self._actions, self._log_probs, advantages, returns)]
        rows = np.arange(len(obs))
        for _ in range(self._n_epochs):
            self._shuffle.shuffle(rows)
            for first in range(0, len(rows), self._batch_size):
                chosen = rows[first : first + self._batch_size]
                loss = self._loss(obs[chosen], *(part[chosen] for part in flat))
                self._optimiser.zero_grad()
                torch.autograd.backward(loss)
                nn.utils.clip_grad_norm_(self._network.parameters(), MAX_NORM)
                self._optimiser.step()

    def _loss(self, obs: Tensor, actions: Tensor, log_probs: Tensor, advantages: Tensor, returns: Tensor) -> Tensor:
        logits, values = self._network(obs)
        policy = _distribution(logits)
        ratio = (policy.log_prob(actions) - log_probs).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        objective = torch.min(advantages * ratio, advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        value_loss = 0.5 * (values - returns).square().mean()
        loss: Tensor = VALUE * value_loss - objective - ENTROPY * policy.entropy().mean()
        return loss


def _distribution(logits: Tensor) -> Any:
    return Categorical(logits=logits)
