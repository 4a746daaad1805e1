"""One encoder per observation leaf: pictures through convolutions, choices one-hot, vectors as they are."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parcade.errors import EnvError, SettingsError
from parcade.learn.choices import Choices, choice_places
from parcade.learn.normalise import RunningMoments

CNNS = ("small", "pooled", "nature", "impala")
_SMALLEST = {
    "small": 20,
    "pooled": 8,
    "nature": 36,
    "impala": 1,
}  # pixels a side that leave something after the convolutions
_CHANNELS = (1, 3, 4)
_MOST_CHOICES = 100_000  # a first layer for more would not fit beside anything else


class LeafShape(NamedTuple):
    """What the policy knows of an observation leaf."""

    shape: tuple[int, ...]
    dtype: str
    choices: Choices = ()  # empty where the numbers are quantities

    @property
    def is_picture(self) -> bool:
        """Whether the leaf goes through convolutions."""
        return len(self.shape) == 3 and self.dtype == "uint8" and not self.choices


class PixelEncoder(nn.Module):
    """uint8 pictures -> (batch, ``size``); they become float here and not before.

    Pictures are (batch, channels, height, width), or with the channels last as Gymnasium's own are.
    """

    def __init__(self, shape: tuple[int, ...], cnn: str) -> None:
        super().__init__()
        self.channels_last = shape[2] in _CHANNELS and shape[0] not in _CHANNELS
        height, width, channels = shape if self.channels_last else (shape[1], shape[2], shape[0])
        if min(height, width) < _SMALLEST.get(cnn, 1):
            raise EnvError(
                f"a picture of {height} x {width} is too small for cnn {cnn!r}, which needs {_SMALLEST[cnn]} x "
                f"{_SMALLEST[cnn]} or more; cut off or shrink less of it"
            )
        self.convolutions = _convolutions(channels, cnn)
        with torch.no_grad():
            flat = self.convolutions(torch.zeros(1, channels, height, width)).numel()
        self.size = 512 if cnn == "nature" else 256
        self.head = nn.Sequential(nn.Linear(flat, self.size), nn.ReLU())
        self.in_bfloat16 = False  # compute in bfloat16; weights, gradients and what comes out stay float32

    def forward(self, pixels: Tensor) -> Tensor:
        """Encode, in bfloat16 where that was asked for."""
        if not self.in_bfloat16:
            return self._encode(pixels)
        with torch.autocast(pixels.device.type, torch.bfloat16):
            return self._encode(pixels).float()

    def _encode(self, pixels: Tensor) -> Tensor:
        """Channels_last is quick on CPUs, and 1/255 is cheaper on the first weights than on all pixels."""
        first, *others = self.convolutions
        assert isinstance(first, nn.Conv2d)
        if self.channels_last:
            pixels = pixels.permute(0, 3, 1, 2)
        x = pixels.to(memory_format=torch.channels_last, dtype=torch.float32)
        x = F.conv2d(x, first.weight * (1.0 / 255.0), first.bias, first.stride, first.padding)
        for layer in others:
            x = layer(x)
        encoded: Tensor = self.head(x.flatten(1))
        return encoded


def after_convolutions(module: nn.Module) -> nn.Parameter | None:
    """Return the first parameter behind the last convolution; None where there is no convolution."""
    own = {id(weight) for part in module.modules() if isinstance(part, nn.Conv2d) for weight in part.parameters()}
    parameters = list(module.parameters())
    last = max((at for at, parameter in enumerate(parameters) if id(parameter) in own), default=None)
    return None if last is None else parameters[last + 1]


class VectorEncoder(nn.Module):
    """Any other leaf -> (batch, size), flattened to float32 and, where asked for, scaled by its running moments."""

    def __init__(self, shape: tuple[int, ...], normalize: bool = False) -> None:
        super().__init__()
        self.size = math.prod(shape)
        self.moments = RunningMoments(self.size) if normalize else None

    def forward(self, vector: Tensor) -> Tensor:
        """Flatten and scale."""
        flat = _flat(vector)
        if self.moments is None:
            return flat
        scaled: Tensor = self.moments(flat)
        return scaled

    def observe(self, vector: Tensor) -> None:
        """Take (rows, ...) of the leaf into the running moments, where there are any."""
        if self.moments is not None:
            self.moments.observe(_flat(vector))


class ChoiceEncoder(nn.Module):
    """Numbers that name choices -> (batch, size) with a one for each: 3 is not three times 1."""

    places: Tensor

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self.choices, self.size = choices, sum(n for n, _ in choices)
        if self.size > _MOST_CHOICES:
            raise EnvError(
                f"an observation of {self.size:,} choices is too large to learn from, {_MOST_CHOICES:,} is the most; "
                "let the env observe a Box of the few numbers that matter"
            )
        self.register_buffer("places", torch.tensor(choice_places(choices)), persistent=False)

    def forward(self, numbers: Tensor) -> Tensor:
        """Put a one at each choice's place."""
        at = numbers.reshape(numbers.shape[0], -1).to(torch.int64) + self.places
        return torch.zeros(at.shape[0], self.size, device=at.device).scatter_(1, at, 1.0)


def _flat(vector: Tensor) -> Tensor:
    return vector.to(torch.float32).reshape(vector.shape[0], -1)


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = x + self.layers(x)
        return total


def _convolutions(channels: int, cnn: str) -> nn.Sequential:
    if cnn == "small":
        return nn.Sequential(nn.Conv2d(channels, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU())
    if cnn == "pooled":
        # IMPALA's residual blocks behind patches of 4 x 4 and an average: a fifth of the Nature CNN's products.
        patches = [nn.Conv2d(channels, 16, 4, 4), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.AvgPool2d(2)]
        return nn.Sequential(*patches, _Residual(32), _Residual(32), nn.ReLU())
    if cnn == "nature":
        return nn.Sequential(
            nn.Conv2d(channels, 32, 8, 4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1),
            nn.ReLU(),
        )
    if cnn == "impala":
        layers: list[nn.Module] = []
        for width in (16, 32, 32):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.MaxPool2d(3, 2, 1)]
            layers += [_Residual(width), _Residual(width)]
            channels = width
        return nn.Sequential(*layers, nn.ReLU())
    raise SettingsError(f"cnn {cnn!r} is not known; use {', '.join(CNNS)}")
