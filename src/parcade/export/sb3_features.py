"""What Stable-Baselines3 has no network of its own for, as a features extractor: our CNNs and scaled vectors.

A zip that needs it names this class, so whoever loads it needs Parcade installed. Importing this file imports SB3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from parcade.learn.encoders import PixelEncoder
from parcade.learn.normalise import RunningMoments


class PolicyFeatures(BaseFeaturesExtractor):
    """Encodes what SB3 has preprocessed: pictures from 0 to 1, choices one-hot, vectors as float32."""

    def __init__(self, observation_space: spaces.Space[Any], cnn: str, normalize_obs: bool) -> None:
        leaves = (
            dict(observation_space.spaces) if isinstance(observation_space, spaces.Dict) else {"obs": observation_space}
        )
        encoders = {name: _encoder(space, cnn, normalize_obs) for name, space in leaves.items()}
        super().__init__(observation_space, sum(size for _, size in encoders.values()))
        self._is_whole = not isinstance(observation_space, spaces.Dict)
        self.encoders = nn.ModuleDict({name: encoder for name, (encoder, _) in encoders.items()})

    def forward(self, observations: Tensor | Mapping[str, Tensor]) -> Tensor:
        """Return all leaves side by side."""
        seen = {"obs": observations} if self._is_whole else observations
        return torch.cat([encoder(seen[name]) for name, encoder in self.encoders.items()], 1)  # type: ignore[index]


class _Picture(nn.Module):
    """Our convolutions on a picture whose values are from 0 to 1 already."""

    def __init__(self, shape: tuple[int, ...], cnn: str) -> None:
        super().__init__()
        ours = PixelEncoder(shape, cnn)
        self.size, self.convolutions, self.head = ours.size, ours.convolutions, ours.head

    def forward(self, pixels: Tensor) -> Tensor:
        encoded: Tensor = self.head(self.convolutions(pixels).flatten(1))
        return encoded


def _encoder(space: spaces.Space[Any], cnn: str, normalize_obs: bool) -> tuple[nn.Module, int]:
    if isinstance(space, spaces.Box):
        if len(space.shape) == 3 and space.dtype == "uint8":
            picture = _Picture(space.shape, cnn)
            return picture, picture.size
        size = math.prod(space.shape)
        return nn.Sequential(nn.Flatten(), *([RunningMoments(size)] if normalize_obs else [])), size
    if isinstance(space, spaces.MultiBinary):
        size = math.prod(space.shape)
        return nn.Sequential(nn.Flatten(), *([RunningMoments(size)] if normalize_obs else [])), size
    size = int(space.n) if isinstance(space, spaces.Discrete) else int(sum(space.nvec))  # type: ignore[attr-defined]
    return nn.Flatten(), size
