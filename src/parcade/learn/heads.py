"""Small fully connected networks whose single steps cost little more than their arithmetic."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Mlp(nn.Sequential):
    """Linear layers with an activation between them.

    ``forward`` is for learning. ``quick`` gives the same numbers for the few rows of a single step, where looking up
    modules costs more than multiplying; it uses the weights that ``prepare`` found.
    """

    def __init__(self, size: int, hidden: tuple[int, ...], out: int, activation: str) -> None:
        sizes, layers = (size, *hidden, out), []
        for width in hidden:
            layers += [nn.Linear(size, width), nn.Tanh() if activation == "tanh" else nn.ReLU()]
            size = width
        super().__init__(*layers, nn.Linear(size, out))
        self.sizes = sizes
        self._activate = torch.tanh_ if activation == "tanh" else torch.relu_
        self._prepared: list[tuple[Tensor, Tensor]] = []

    @property
    def linear(self) -> list[nn.Linear]:
        """The layers with weights."""
        return [layer for layer in self if isinstance(layer, nn.Linear)]

    def initialise(self, last_gain: float) -> None:
        """Orthogonal weights, zero biases; the last layer's weights scaled by ``last_gain``."""
        for layer in self.linear:
            nn.init.orthogonal_(layer.weight, last_gain if layer is self.linear[-1] else math.sqrt(2))
            nn.init.zeros_(layer.bias)

    def prepare(self) -> None:
        """Look the weights up; holds until the module moves to another device."""
        self._prepared = [(layer.bias.detach(), layer.weight.detach().t()) for layer in self.linear]

    def quick(self, x: Tensor) -> Tensor:
        """Return ``forward(x)`` without gradients."""
        for bias, weight in self._prepared[:-1]:
            x = self._activate(torch.addmm(bias, x, weight))
        bias, weight = self._prepared[-1]
        return torch.addmm(bias, x, weight)
