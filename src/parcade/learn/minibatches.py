"""A rollout cut into shuffled minibatches: by rows, or by whole slots where the policy has a memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from parcade.learn.policy import Policy
from parcade.learn.rollout import Rollout
from parcade.learn.shifting import RandomShift


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Rows for one gradient step; observations hold until the next minibatch is taken."""

    obs: Mapping[str, Tensor]
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    state: Tensor | None = None  # (slots, state_size), memory before the first step; rows are then (T * slots, ...)
    starts: Tensor | None = None  # (T, slots)
    shifted: Mapping[str, Tensor] | None = None  # the same rows with their pictures moved, where that is asked for


class Minibatches:
    """Gathers into buffers that are allocated once; everything small is gathered once an epoch."""

    def __init__(
        self, policy: Policy, batch_size: int, shuffle: torch.Generator, shift: RandomShift | None = None
    ) -> None:
        self._policy, self._batch_size, self._shuffle, self._shift = policy, batch_size, shuffle, shift
        self._device = policy.device
        self._buffers: dict[str, Tensor] = {}

    def epochs(self, rollout: Rollout) -> Iterator[Iterator[Minibatch]]:
        """Return passes over the rollout without end: each holds every step once, in an order drawn anew.

        Observations travel to the policy's device once for all passes, and are gathered there.
        """
        obs = rollout.flat()
        if self._device.type != "cpu" and not self._policy.state_size:
            obs = {name: tensor.to(self._device, non_blocking=True) for name, tensor in obs.items()}
        while True:
            yield self._by_slots(rollout) if self._policy.state_size else self._by_rows(rollout, obs)

    def in_epoch(self, rollout: Rollout) -> int:
        """Return how many minibatches a pass over the rollout has."""
        if self._policy.state_size:
            return math.ceil(rollout.n_envs / self._slots_of(rollout))
        return math.ceil(rollout.env_steps / self._batch_size)

    def _slots_of(self, rollout: Rollout) -> int:
        n_steps: int = rollout.n_steps
        return max(1, self._batch_size // n_steps)

    def _by_rows(self, rollout: Rollout, obs: Mapping[str, Tensor]) -> Iterator[Minibatch]:
        order = torch.randperm(rollout.env_steps, generator=self._shuffle)
        numbers = self._numbers(rollout).flatten(1).index_select(1, order).to(self._device)
        actions = rollout.actions.flatten(0, 1).index_select(0, order).to(self._device)
        first = 0
        for rows in torch.split(order.to(self._device), self._batch_size):
            part = slice(first, first + len(rows))
            taken = {name: self._take(name, tensor, rows) for name, tensor in obs.items()}
            old, values, advantages, returns = numbers[:, part].unbind()
            shifted = self._shifted(taken)
            yield Minibatch(taken, actions[part], old, values, advantages, returns, shifted=shifted)
            first += len(rows)

    def _by_slots(self, rollout: Rollout) -> Iterator[Minibatch]:
        """Whole rollouts of some slots, so that gradients flow through all their steps."""
        numbers, starts = self._numbers(rollout), rollout.starts()
        order = torch.randperm(rollout.n_envs, generator=self._shuffle)
        for slots in torch.split(order, self._slots_of(rollout)):
            tensors = {name: tensor[:-1, slots].flatten(0, 1) for name, tensor in rollout.obs.items()}
            log_probs, values, advantages, returns = numbers[:, :, slots].flatten(1).to(self._device)
            obs = {name: tensor.to(self._device) for name, tensor in tensors.items()}
            yield Minibatch(
                obs,
                rollout.actions[:, slots].flatten(0, 1).to(self._device),
                log_probs,
                values,
                advantages,
                returns,
                rollout.states[slots].to(self._device),
                starts[:, slots].to(self._device),
                self._shifted(obs),
            )

    def _shifted(self, obs: Mapping[str, Tensor]) -> Mapping[str, Tensor] | None:
        return None if self._shift is None else self._shift(obs)

    def _numbers(self, rollout: Rollout) -> Tensor:
        """Return old log probabilities, old values, advantages and returns as (4, T, N)."""
        old_values = torch.from_numpy(rollout.values[:-1])
        return torch.stack([rollout.log_probs, old_values, rollout.advantages, rollout.returns])

    def _take(self, name: str, tensor: Tensor, rows: Tensor) -> Tensor:
        if name not in self._buffers:
            self._buffers[name] = tensor.new_empty((self._batch_size, *tensor.shape[1:]))
        buffer = self._buffers[name][: len(rows)]
        return torch.index_select(tensor, 0, rows, out=buffer)
