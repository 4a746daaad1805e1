"""Running scales: of vector observations, and of rewards by the spread of the returns they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from parcade.errors import ModelFileError
from parcade.learn.advantage import BoolTN, FloatTN

LIMIT = 10.0  # scaled observations and rewards stay within +/- this
_TINY = 1e-8


def combine(first: tuple[Any, Any, Any], second: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return mean, variance and count of two samples together, each given as its own mean, variance and count.

    >>> combine((0.0, 0.0, 1.0), (2.0, 0.0, 1.0))
    (1.0, 1.0, 2.0)
    """
    (mean_a, var_a, count_a), (mean_b, var_b, count_b) = first, second
    count = count_a + count_b
    apart = mean_b - mean_a
    mean = mean_a + apart * (count_b / count)
    squares = var_a * count_a + var_b * count_b + apart * apart * (count_a * count_b / count)
    return mean, squares / count, count


@torch.no_grad()
def moments_of(vectors: Tensor) -> tuple[Tensor, Tensor, float]:
    """Return mean, variance and count of (rows, size) vectors, in double precision."""
    rows = vectors.detach().cpu().double()
    return rows.mean(0), rows.var(0, correction=0), float(len(rows))


class RunningMoments(nn.Module):
    """Mean and variance of all vectors seen, as buffers: they travel with the weights."""

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, vectors: Tensor) -> Tensor:
        """Scale to mean 0 and variance 1; before the first ``observe`` only the limit acts."""
        return ((vectors - self.mean) * self.factor).clamp(-LIMIT, LIMIT)

    @property
    def factor(self) -> Tensor:
        """What brings the variance to 1."""
        return torch.rsqrt(self.var + _TINY)

    def observe(self, vectors: Tensor) -> None:
        """Take (rows, size) vectors into account; summed in double precision."""
        self.take(moments_of(vectors))

    @torch.no_grad()
    def take(self, seen: tuple[Tensor, Tensor, float]) -> None:
        """Take vectors into account of which only mean, variance and count are known."""
        so_far = (self.mean.cpu().double(), self.var.cpu().double(), float(self.count))
        mean, var, count = combine(so_far, seen)
        self.mean.copy_(mean)
        self.var.copy_(var)
        self.count.fill_(count)


class ReturnScaler:
    """Divides rewards by the standard deviation of the discounted returns seen so far."""

    def __init__(self, n_envs: int, gamma: float) -> None:
        self._gamma = gamma
        self._running: npt.NDArray[np.float64] = np.zeros(n_envs)  # return of each slot's episode so far
        self._moments = (0.0, 1.0, 0.0)

    def scale(self, rewards: FloatTN, ended: BoolTN) -> FloatTN:
        """Return the scaled rewards of a rollout, one scale for all of it, which the rollout itself counts for."""
        self.take(self.follow(rewards, ended))
        return self.scaled(rewards)

    def follow(self, rewards: FloatTN, ended: BoolTN) -> tuple[float, float, float]:
        """Go on with every slot's return; return mean, variance and count of the rollout's returns."""
        returns = np.empty(rewards.shape, np.float64)
        for t, step in enumerate(rewards):
            self._running = self._running * self._gamma + step
            returns[t] = self._running
            self._running = np.where(ended[t], 0.0, self._running)
        return float(returns.mean()), float(returns.var()), float(returns.size)

    def take(self, seen: tuple[float, float, float]) -> None:
        """Take returns into account of which mean, variance and count are known."""
        self._moments = combine(self._moments, seen)

    def scaled(self, rewards: FloatTN) -> FloatTN:
        """Return rewards by the present scale."""
        scaled: FloatTN = np.clip(rewards / np.sqrt(self._moments[1] + _TINY), -LIMIT, LIMIT).astype(np.float32)
        return scaled

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint needs."""
        moments = torch.tensor(self._moments, dtype=torch.float64)
        return {"running_returns": torch.from_numpy(self._running.copy()), "return_moments": moments}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        running, moments = state.get("running_returns"), state.get("return_moments")
        if running is None or moments is None or running.shape != self._running.shape or moments.shape != (3,):
            raise ModelFileError("the checkpoint holds no return scale for this many envs")
        self._running = running.numpy().astype(np.float64)
        mean, var, count = (float(number) for number in moments)
        self._moments = (mean, var, count)
