"""A policy as one function of tensors, with all it needs inside: scaling, one-hot, masks, memory, likeliest action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.nn import functional as F

from parcade.errors import EnvError
from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor
from parcade.learn.sampling import BETA_SHARPNESS, Array

STATE = "state"
OUTPUTS = ("action", "params", "value", "state_after")


class Step(NamedTuple):
    """What a policy says to one observation; every array has one row."""

    action: Array
    params: Array
    value: Array
    state: Array


class ExportedPolicy(Protocol):
    """A policy in a file's own program, one observation at a time."""

    def __call__(self, rows: Mapping[str, Array], state: Array) -> Step:
        """Return its answer to one row of each leaf, and the memory after it."""
        ...


class PlayedPolicy(nn.Module):
    """Takes a tensor for each leaf, and the memory where there is one; returns as many of ``OUTPUTS`` as it has."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy, self.leaves = policy, tuple(policy.leaves)
        self.likeliest = _likeliest(policy.action_space, policy.net.box)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The leaves in order, then the memory."""
        return (*self.leaves, STATE) if self.policy.state_size else self.leaves

    @property
    def output_names(self) -> tuple[str, ...]:
        """What ``forward`` returns."""
        return OUTPUTS if self.policy.state_size else OUTPUTS[:3]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Take one step in every row."""
        observations = dict(zip(self.leaves, inputs, strict=False))
        memory = inputs[-1] if self.policy.state_size else torch.zeros(0)
        params, value, after = self.policy.step(observations, memory)
        answer = (self.likeliest(params), params, value)
        return (*answer, after) if self.policy.state_size else answer

    def example(self, n_rows: int) -> tuple[Tensor, ...]:
        """Return inputs of the right shapes and dtypes."""
        made = []
        for leaf in self.policy.leaves.values():
            first = [start for _, start in leaf.choices]
            row = np.reshape(first, leaf.shape) if leaf.choices else np.ones(leaf.shape)
            made.append(as_tensor(np.broadcast_to(row, (n_rows, *leaf.shape)).astype(leaf.dtype)))
        return (*made, self.policy.initial_state(n_rows)) if self.policy.state_size else tuple(made)


def input_rows(policy: Policy, rows: Mapping[str, Array]) -> dict[str, Array]:
    """Return one observation as a batch of one, in the dtypes that ``PlayedPolicy`` takes."""
    return {
        name: as_tensor(np.asarray(rows[name], leaf.dtype, order="C")[None]).numpy()
        for name, leaf in policy.leaves.items()
    }


class _Choice(nn.Module):
    """The likeliest of n, counted from the space's start."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def forward(self, params: Tensor) -> Tensor:
        return params.argmax(1) + self._start


class _Choices(nn.Module):
    """The likeliest of each choice, in the space's shape."""

    start: Tensor

    def __init__(self, space: spaces.MultiDiscrete) -> None:
        super().__init__()
        self._counts = [int(n) for n in space.nvec.flatten()]
        self.register_buffer("start", torch.from_numpy(space.start.astype(np.int64)))

    def forward(self, params: Tensor) -> Tensor:
        chosen = torch.stack([part.argmax(1) for part in torch.split(params, self._counts, 1)], 1)
        return chosen.reshape(chosen.shape[0], *self.start.shape) + self.start


class _Switches(nn.Module):
    """On where that is likelier than off."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self._shape = shape

    def forward(self, params: Tensor) -> Tensor:
        return (params > 0).to(torch.int64).reshape(params.shape[0], *self._shape)


class _Mean(nn.Module):
    """The mean of a Gaussian, clipped to the space."""

    low: Tensor
    high: Tensor

    def __init__(self, space: spaces.Box) -> None:
        super().__init__()
        self.register_buffer("low", torch.from_numpy(space.low.astype(np.float32)))
        self.register_buffer("high", torch.from_numpy(space.high.astype(np.float32)))

    def forward(self, params: Tensor) -> Tensor:
        mean = params[:, : math.prod(self.low.shape)].reshape(params.shape[0], *self.low.shape)
        return torch.minimum(torch.maximum(mean, self.low), self.high)


class _BetaMean(nn.Module):
    """The mean of a Beta distribution, stretched to the space."""

    low: Tensor
    width: Tensor

    def __init__(self, space: spaces.Box) -> None:
        super().__init__()
        self.register_buffer("low", torch.from_numpy(space.low.astype(np.float32)))
        self.register_buffer("width", torch.from_numpy((space.high - space.low).astype(np.float32)))

    def forward(self, params: Tensor) -> Tensor:
        first, second = (BETA_SHARPNESS * F.softplus(params) + 1.0).chunk(2, -1)
        share = (first / (first + second)).clamp(1e-6, 1 - 1e-6)
        return self.low + self.width * share.reshape(params.shape[0], *self.low.shape)


def _likeliest(space: spaces.Space[Any], box: str) -> nn.Module:
    """Return what ``sampler_for(space, box)`` draws without noise, as the env takes it."""
    if isinstance(space, spaces.Discrete):
        return _Choice(int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return _Choices(space)
    if isinstance(space, spaces.MultiBinary):
        return _Switches(space.shape)
    if isinstance(space, spaces.Box):
        return _BetaMean(space) if box == "beta" else _Mean(space)
    raise EnvError(f"a policy that acts in {space} cannot be exported")
