"""The network: encoders, memory where asked for, an actor and a critic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from parcade.errors import EnvError
from parcade.learn.distributions import distribution_for
from parcade.learn.encoders import ChoiceEncoder, LeafShape, PixelEncoder, VectorEncoder
from parcade.learn.heads import Mlp
from parcade.learn.recurrent import Recurrence
from parcade.learn.sampling import MASKED

Leaves = Mapping[str, LeafShape | tuple[tuple[int, ...], str]]
Observations = Mapping[str, Tensor]
MASK = "action_mask"  # an observation leaf of this name is not seen but forbids actions: zero where one must not be


@dataclass(frozen=True, slots=True)
class NetSettings:
    """What decides the network's shape."""

    cnn: str = "small"
    hidden: tuple[int, ...] | None = None  # of actor and critic; None: none after pictures, else (128, 128)
    activation: str = "tanh"
    box: str = "gaussian"
    lstm: int = 0  # size of the memory; 0: none
    normalize_obs: bool = False  # scale vector observations by their running mean and variance

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


class Policy(nn.Module):
    """Observations (by leaf name) -> parameters of the action distribution and the state's value."""

    def __init__(
        self, leaves: Leaves, action_space: spaces.Space[Any], net: NetSettings, *, initialise: bool = True
    ) -> None:
        super().__init__()
        self.distribution = distribution_for(action_space, net.box)
        self.leaves = {name: LeafShape(*leaf) for name, leaf in leaves.items()}
        self.action_space, self.net = action_space, net
        self.mask_leaf = self._find_mask(action_space)
        self.encoders = nn.ModuleDict()
        for name, leaf in self.leaves.items():
            if name != self.mask_leaf:
                self.encoders[_key(name)] = _encoder(leaf, net)
        if not self.encoders:
            raise EnvError(f"the observation holds nothing but {self.mask_leaf}; the policy needs something to see")
        self.seen = tuple(name for name in leaves if name != self.mask_leaf)
        self.parts = tuple(self.encoders.values())
        size = sum(encoder.size for encoder in self.parts)  # type: ignore[misc]
        only_pictures = all(isinstance(encoder, PixelEncoder) for encoder in self.parts)
        hidden = net.hidden if net.hidden is not None else (() if only_pictures else (128, 128))
        self.recurrence = Recurrence(size, net.lstm) if net.lstm else None
        size = net.lstm or size
        self.actor = Mlp(size, hidden, self.distribution.n_params, net.activation)
        self.critic = Mlp(size, hidden, 1, net.activation)
        free = self.distribution.n_free
        self.log_std = nn.Parameter(torch.zeros(free)) if free else None
        if initialise:
            self._initialise()
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def n_params(self) -> int:
        """Numbers that describe the distribution of an action."""
        return self.distribution.n_params + self.distribution.n_free

    @property
    def state_size(self) -> int:
        """Numbers of memory a slot carries from step to step; 0 for a policy without memory."""
        return 2 * self.recurrence.size if self.recurrence is not None else 0

    def initial_state(self, rows: int) -> Tensor:
        """Return the memory at the start of an episode, (rows, state_size)."""
        return torch.zeros(rows, self.state_size)

    def forward(self, observations: Observations) -> tuple[Tensor, Tensor]:
        """Return (batch, n_params) and (batch,) values of a policy without memory."""
        if self.recurrence is not None:
            raise RuntimeError("a policy with memory needs its state: use step or unroll")
        return self._heads(self.encode(observations), observations)

    def _heads(self, latent: Tensor, observations: Observations) -> tuple[Tensor, Tensor]:
        return self.finish(self.actor(latent), observations), self.critic(latent).squeeze(-1)

    @property
    def values_apart(self) -> bool:
        """Whether actor and critic share nothing: small networks on vectors without memory."""
        return self.recurrence is None and not self.has_pictures

    @property
    def has_pictures(self) -> bool:
        """Whether any leaf goes through convolutions."""
        return any(isinstance(encoder, PixelEncoder) for encoder in self.parts)

    def step(self, observations: Observations, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take one step; return parameters, values and the memory after it."""
        latent = self.encode(observations)
        if self.recurrence is not None:
            latent, state = self.recurrence.step(latent, state)
        return *self._heads(latent, observations), state

    def unroll(self, observations: Observations, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Return parameters and values of (T * batch, ...) observations, from the memory before their first step.

        ``starts`` (T, batch) says where an episode begins and the memory is forgotten.
        """
        assert self.recurrence is not None
        latent = self.encode(observations).reshape(*starts.shape, -1)
        return self._heads(self.recurrence.unroll(latent, state, starts).flatten(0, 1), observations)

    @property
    def in_bfloat16(self) -> bool:
        """Whether convolutions are computed in bfloat16."""
        return any(isinstance(part, PixelEncoder) and part.in_bfloat16 for part in self.parts)

    def use_bfloat16(self, wanted: bool) -> None:
        """Compute convolutions in bfloat16, or in float32 as at first; playing and learning always agree."""
        for part in self.parts:
            if isinstance(part, PixelEncoder):
                part.in_bfloat16 = wanted

    def observe(self, observations: Observations) -> None:
        """Take observations (rows, ...) into the running moments, where the policy keeps any."""
        for name, encoder in zip(self.seen, self.parts, strict=True):
            if isinstance(encoder, VectorEncoder):
                encoder.observe(observations[name])

    def encode(self, observations: Observations) -> Tensor:
        """Return what actor and critic see of (rows, ...) observations."""
        encoded = [encoder(observations[name]) for name, encoder in zip(self.seen, self.parts, strict=True)]
        return encoded[0] if len(encoded) == 1 else torch.cat(encoded, -1)

    def finish(self, params: Tensor, observations: Observations) -> Tensor:
        """Return the actor's outputs with what does not depend on the state, and with what the mask forbids."""
        if self.log_std is not None:
            params = torch.cat([params, self.log_std.expand_as(params)], -1)
        if self.mask_leaf is not None:
            allowed = observations[self.mask_leaf].reshape(params.shape) != 0
            params = params.masked_fill(~allowed, MASKED)
        return params

    def _find_mask(self, action_space: spaces.Space[Any]) -> str | None:
        found = [name for name in self.leaves if name.rpartition("/")[2] == MASK]
        if not found:
            return None
        shape, wanted = self.leaves[found[0]][0], self.distribution.n_maskable
        if len(found) > 1 or not wanted or math.prod(shape) != wanted:
            raise EnvError(
                f"the observation leaf {found[0]} of shape {tuple(shape)} cannot mask {action_space}; wanted one leaf "
                + (f"of {wanted} numbers, one for each choice" if wanted else "and Discrete or MultiDiscrete actions")
            )
        return found[0]

    def _initialise(self) -> None:
        """Orthogonal weights; a small last actor layer, so that every action is about as likely at first."""
        for module in self.encoders.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.orthogonal_(module.weight, math.sqrt(2))
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]
        self.actor.initialise(0.01)
        self.critic.initialise(1.0)


def _encoder(leaf: LeafShape, net: NetSettings) -> PixelEncoder | ChoiceEncoder | VectorEncoder:
    if leaf.choices:
        return ChoiceEncoder(leaf.choices)
    return PixelEncoder(leaf.shape, net.cnn) if leaf.is_picture else VectorEncoder(leaf.shape, net.normalize_obs)


def _key(name: str) -> str:
    return name.replace("/", "__").replace(".", "_")
