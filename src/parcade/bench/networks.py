"""The three networks of `bench train` in plain PyTorch: what the peers train, and the limit of learning."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn


def convolutions(case: str, channels: int) -> nn.Sequential:
    """Return the convolutions of the Nature CNN or of the small one, with a flatten behind them."""
    if case == "nature-cnn":
        parts = [nn.Conv2d(channels, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3, 1)]
    else:
        parts = [nn.Conv2d(channels, 16, 8, 4), nn.Conv2d(16, 32, 4, 2)]
    layers: list[nn.Module] = []
    for part in parts:
        layers += [part, nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten())


class BareNetwork(nn.Module):
    """Torso, actor and critic; pictures in channels_last, the fast layout on CPUs, unless told otherwise."""

    def __init__(self, case: str, shape: tuple[int, ...], n_actions: int, *, channels_last: bool = True) -> None:
        super().__init__()
        self._pictures = len(shape) == 3
        self._layout = torch.channels_last if channels_last else torch.contiguous_format
        if not self._pictures:
            self.torso: nn.Module = nn.Identity()
            self.actor: nn.Module
            self.critic: nn.Module
            self.actor, self.critic = _mlp(shape[0], n_actions), _mlp(shape[0], 1)
            return
        torso = convolutions(case, shape[0])
        with torch.no_grad():
            flat = torso(torch.zeros(1, *shape)).shape[1]
        size = 512 if case == "nature-cnn" else 256
        self.torso = nn.Sequential(*torso, nn.Linear(flat, size), nn.ReLU())
        self.actor, self.critic = nn.Linear(size, n_actions), nn.Linear(size, 1)
        self.to(memory_format=self._layout)  # type: ignore[call-overload]

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values."""
        if self._pictures:
            observation = observation.to(dtype=torch.float32, memory_format=self._layout) * (1.0 / 255.0)
        latent = self.torso(observation)
        return self.actor(latent), self.critic(latent).squeeze(-1)


def _mlp(size: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, out))


class BareLearning:
    """The limit of learning: forward, backward and Adam on one ready minibatch, again and again."""

    def __init__(self, case: str, shape: tuple[int, ...], n_actions: int, batch_size: int) -> None:
        self._network = BareNetwork(case, shape, n_actions)
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=3e-4, fused=True)
        noise = torch.Generator().manual_seed(0)
        if len(shape) == 3:
            self._batch = torch.randint(0, 256, (batch_size, *shape), generator=noise, dtype=torch.uint8)
        else:
            self._batch = torch.randn((batch_size, *shape), generator=noise)
        self._actions = torch.randint(0, n_actions, (batch_size, 1), generator=noise)

    def turn(self, seconds: float) -> float:
        """Learn for ``seconds`` with as many threads as PyTorch is set to; return samples per second."""
        samples, started = 0, time.perf_counter()
        while True:
            self._step()
            samples += len(self._batch)
            elapsed = time.perf_counter() - started
            if elapsed >= seconds:
                return samples / elapsed

    def _step(self) -> None:
        logits, values = self._network(self._batch)
        loss = -logits.log_softmax(-1).gather(1, self._actions).mean() + values.square().mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._optimiser.step()

    def close(self) -> None:
        """Nothing is held open."""


def sb3_policy(case: str) -> tuple[str, dict[str, Any]]:
    """Return SB3's policy name and arguments for the same network."""
    if case == "features-mlp":
        return "MlpPolicy", {"net_arch": {"pi": [128, 128], "vf": [128, 128]}, "activation_fn": nn.Tanh}
    if case == "nature-cnn":
        return "CnnPolicy", {}  # SB3's own default is the Nature CNN with 512 features and no further layer
    return "CnnPolicy", {"features_extractor_class": _small_extractor(), "net_arch": []}


def _small_extractor() -> type[Any]:
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class SmallCnn(BaseFeaturesExtractor):
        """The small CNN as SB3 wants it; SB3 has scaled the picture to 0..1 before."""

        def __init__(self, observation_space: Any) -> None:
            super().__init__(observation_space, 256)
            self.convolutions = convolutions("small-cnn", observation_space.shape[0])
            with torch.no_grad():
                flat = self.convolutions(torch.zeros(1, *observation_space.shape)).shape[1]
            self.head = nn.Sequential(nn.Linear(flat, 256), nn.ReLU())

        def forward(self, pixels: Tensor) -> Tensor:
            encoded: Tensor = self.head(self.convolutions(pixels))
            return encoded

    return SmallCnn
