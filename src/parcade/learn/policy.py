"""The network: encoders, an actor and a critic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from parcade.learn.distributions import distribution_for
from parcade.learn.encoders import PixelEncoder, VectorEncoder

Leaves = Mapping[str, tuple[tuple[int, ...], Any]]  # name -> shape, dtype
Observations = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class NetSettings:
    """What decides the network's shape."""

    cnn: str = "small"
    hidden: tuple[int, ...] | None = None  # of actor and critic; None: none after pictures, else (128, 128)
    activation: str = "tanh"
    box: str = "gaussian"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


class Policy(nn.Module):
    """Observations (by leaf name) -> parameters of the action distribution and the state's value."""

    def __init__(self, leaves: Leaves, action_space: spaces.Space[Any], net: NetSettings) -> None:
        super().__init__()
        self.distribution = distribution_for(action_space, net.box)
        self.encoders = nn.ModuleDict()
        for name, (shape, dtype) in leaves.items():
            is_picture = len(shape) == 3 and dtype == "uint8"
            self.encoders[_key(name)] = PixelEncoder(shape, net.cnn) if is_picture else VectorEncoder(shape)
        self.leaves = dict(leaves)
        self._names = tuple(leaves)
        size = sum(encoder.size for encoder in self.encoders.values())  # type: ignore[misc]
        only_pictures = all(isinstance(encoder, PixelEncoder) for encoder in self.encoders.values())
        hidden = net.hidden if net.hidden is not None else (() if only_pictures else (128, 128))
        self.actor = _mlp(size, hidden, self.distribution.n_params, net.activation)
        self.critic = _mlp(size, hidden, 1, net.activation)
        free = self.distribution.n_free
        self.log_std = nn.Parameter(torch.zeros(free)) if free else None
        _initialise(self)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, observations: Observations) -> tuple[Tensor, Tensor]:
        """Return (batch, n_params) and (batch,) values."""
        encoded = [self.encoders[_key(name)](observations[name]) for name in self._names]
        latent = encoded[0] if len(encoded) == 1 else torch.cat(encoded, -1)
        params = self.actor(latent)
        if self.log_std is not None:
            params = torch.cat([params, self.log_std.expand_as(params)], -1)
        return params, self.critic(latent).squeeze(-1)


def _key(name: str) -> str:
    return name.replace("/", "__").replace(".", "_")


def _mlp(size: int, hidden: tuple[int, ...], out: int, activation: str) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(size, width), nn.Tanh() if activation == "tanh" else nn.ReLU()]
        size = width
    return nn.Sequential(*layers, nn.Linear(size, out))


def _initialise(policy: Policy) -> None:
    """Orthogonal weights; a small last actor layer, so that every action is about as likely at first."""
    for module in policy.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(module.weight, math.sqrt(2))
            nn.init.zeros_(module.bias)  # type: ignore[arg-type]
    nn.init.orthogonal_(policy.actor[-1].weight, 0.01)  # type: ignore[arg-type]
    nn.init.orthogonal_(policy.critic[-1].weight, 1.0)  # type: ignore[arg-type]
