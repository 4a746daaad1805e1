"""What an action is drawn from, for each kind of action space. Parameters come from the policy, noise is handed over."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from parcade.errors import EnvError


class Distribution(Protocol):
    """Maths over (batch, n_params) tensors; actions are (batch, *action_shape) of ``action_dtype``."""

    n_params: int
    n_free: int  # parameters that do not depend on the state (log standard deviations)
    action_shape: tuple[int, ...]
    action_dtype: torch.dtype

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw one action per row."""
        ...

    def mode(self, params: Tensor) -> Tensor:
        """Return the likeliest action per row."""
        ...

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return the log probability of each row's action."""
        ...

    def entropy(self, params: Tensor) -> Tensor:
        """Return the entropy of each row."""
        ...

    def to_env(self, actions: Tensor) -> Any:
        """Return the actions as the env takes them."""
        ...


class Categorical:
    """One choice of n; masked logits are minus infinity and never drawn."""

    n_free = 0
    action_shape: tuple[int, ...] = ()
    action_dtype = torch.int64

    def __init__(self, n: int, start: int = 0) -> None:
        self.n_params, self._start = n, start

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw by the inverse of the cumulative probabilities: one uniform number a row."""
        cumulative = torch.softmax(params, -1).cumsum(-1)
        uniform = torch.rand(len(params), 1, generator=noise) * cumulative[:, -1:]
        return (cumulative <= uniform).sum(-1).clamp_(max=self.n_params - 1)

    def mode(self, params: Tensor) -> Tensor:
        """Return the largest logit's index."""
        return params.argmax(-1)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return log softmax at the action."""
        return torch.log_softmax(params, -1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the entropy; an impossible choice adds nothing."""
        log_p = torch.log_softmax(params, -1)
        return -(log_p.exp() * log_p.clamp(min=torch.finfo(log_p.dtype).min)).sum(-1)

    def to_env(self, actions: Tensor) -> Any:
        """Return integers from the space's start on."""
        return actions.numpy() + self._start


class MultiCategorical:
    """Several choices at once, independent of each other."""

    n_free = 0
    action_dtype = torch.int64

    def __init__(self, counts: list[int]) -> None:
        self._parts = [Categorical(n) for n in counts]
        self.n_params, self.action_shape = sum(counts), (len(counts),)
        self._counts = counts

    def _split(self, params: Tensor) -> list[tuple[Categorical, Tensor]]:
        return list(zip(self._parts, params.split(self._counts, -1), strict=True))

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw each choice."""
        return torch.stack([part.sample(p, noise) for part, p in self._split(params)], -1)

    def mode(self, params: Tensor) -> Tensor:
        """Return each choice's largest logit."""
        return torch.stack([part.mode(p) for part, p in self._split(params)], -1)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return the sum over choices."""
        pairs = enumerate(self._split(params))
        return torch.stack([part.log_prob(p, actions[:, i]) for i, (part, p) in pairs], -1).sum(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the sum over choices."""
        return torch.stack([part.entropy(p) for part, p in self._split(params)], -1).sum(-1)

    def to_env(self, actions: Tensor) -> Any:
        """Return integers."""
        return actions.numpy()


class Bernoulli:
    """n switches, each on or off."""

    n_free = 0
    action_dtype = torch.int64

    def __init__(self, n: int) -> None:
        self.n_params, self.action_shape = n, (n,)

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw each switch."""
        return (torch.rand(params.shape, generator=noise) < torch.sigmoid(params)).to(torch.int64)

    def mode(self, params: Tensor) -> Tensor:
        """Return on where on is likelier."""
        return (params > 0).to(torch.int64)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return the sum over switches."""
        return -F.binary_cross_entropy_with_logits(params, actions.to(params.dtype), reduction="none").sum(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the sum over switches."""
        return F.binary_cross_entropy_with_logits(params, torch.sigmoid(params), reduction="none").sum(-1)

    def to_env(self, actions: Tensor) -> Any:
        """Return zeros and ones of one byte."""
        return actions.numpy().astype(np.int8)


class Gaussian:
    """A diagonal Gaussian with standard deviations that do not depend on the state; clipped only for the env."""

    action_dtype = torch.float32

    def __init__(self, low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> None:
        self.n_params, self.n_free, self.action_shape = low.size, low.size, low.shape
        self._low, self._high = low, high

    def _split(self, params: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = params.chunk(2, -1)
        return mean, log_std

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw around the mean."""
        mean, log_std = self._split(params)
        drawn = mean + log_std.exp() * torch.randn(mean.shape, generator=noise)
        return drawn.reshape(-1, *self.action_shape)

    def mode(self, params: Tensor) -> Tensor:
        """Return the mean."""
        return self._split(params)[0].reshape(-1, *self.action_shape)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return the density's logarithm."""
        mean, log_std = self._split(params)
        scaled = (actions.flatten(1) - mean) / log_std.exp()
        return (-0.5 * scaled.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the differential entropy."""
        return (self._split(params)[1] + 0.5 + 0.5 * math.log(2 * math.pi)).sum(-1)

    def to_env(self, actions: Tensor) -> Any:
        """Clip to the space."""
        return np.clip(actions.numpy(), self._low, self._high)


class BetaBox:
    """A Beta distribution on each bounded axis, always inside the bounds; both parameters are above 1."""

    n_free = 0
    action_dtype = torch.float32

    def __init__(self, low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> None:
        self.n_params, self.action_shape = 2 * low.size, low.shape
        self._low, self._width = low, high - low

    def _parameters(self, params: Tensor) -> tuple[Tensor, Tensor]:
        alpha, beta = (F.softplus(params) + 1.0).chunk(2, -1)
        return alpha, beta

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw as a ratio of gammas; kept off the very ends, where the density may be zero."""
        alpha, beta = self._parameters(params)
        first = torch._standard_gamma(alpha, generator=noise)  # type: ignore[attr-defined]
        second = torch._standard_gamma(beta, generator=noise)  # type: ignore[attr-defined]
        return (first / (first + second)).clamp(1e-6, 1 - 1e-6).reshape(-1, *self.action_shape)

    def mode(self, params: Tensor) -> Tensor:
        """Return the mean, which drives smoother than the mode."""
        alpha, beta = self._parameters(params)
        return (alpha / (alpha + beta)).reshape(-1, *self.action_shape)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return the density's logarithm on the unit interval."""
        return self._beta(params).log_prob(actions.flatten(1)).sum(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the differential entropy on the unit interval."""
        return self._beta(params).entropy().sum(-1)

    def _beta(self, params: Tensor) -> torch.distributions.Beta:
        return torch.distributions.Beta(*self._parameters(params), validate_args=False)  # type: ignore[no-untyped-call]

    def to_env(self, actions: Tensor) -> Any:
        """Stretch the unit interval to the bounds."""
        return self._low + self._width * actions.numpy()


def distribution_for(space: spaces.Space[Any], box: str = "gaussian") -> Distribution:
    """Return the distribution for an action space; ``box`` is gaussian or beta."""
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical([int(n) for n in space.nvec.flatten()])
    if isinstance(space, spaces.MultiBinary):
        return Bernoulli(int(np.prod(space.shape)))
    if isinstance(space, spaces.Box):
        bounded = bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
        if box == "beta" and not bounded:
            raise EnvError(f"a Beta policy needs bounded actions, but the action space is {space}; use gaussian")
        return BetaBox(space.low, space.high) if box == "beta" else Gaussian(space.low, space.high)
    raise EnvError(f"PPO cannot act in {space}; use Discrete, MultiDiscrete, MultiBinary or Box actions")
