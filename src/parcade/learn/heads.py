"""Small fully connected networks."""

from __future__ import annotations

import math

from torch import nn


class Mlp(nn.Sequential):
    """Linear layers with an activation between them."""

    def __init__(self, size: int, hidden: tuple[int, ...], out: int, activation: str) -> None:
        sizes, layers = (size, *hidden, out), []
        for width in hidden:
            layers += [nn.Linear(size, width), nn.Tanh() if activation == "tanh" else nn.ReLU()]
            size = width
        super().__init__(*layers, nn.Linear(size, out))
        self.sizes = sizes

    @property
    def linear(self) -> list[nn.Linear]:
        """The layers with weights."""
        return [layer for layer in self if isinstance(layer, nn.Linear)]

    def initialise(self, last_gain: float) -> None:
        """Orthogonal weights, zero biases; the last layer's weights scaled by ``last_gain``."""
        for layer in self.linear:
            nn.init.orthogonal_(layer.weight, last_gain if layer is self.linear[-1] else math.sqrt(2))
            nn.init.zeros_(layer.bias)
