"""What an action is drawn from, for each kind of action space; parameters and noise are handed over."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from parcade.errors import EnvError

BETA_SHARPNESS = 4.0  # with 1 the spread hardly shrinks: the network's outputs would have to grow to ten and more
MASKED = -1e9  # the logit of a forbidden choice: its probability is exactly zero, and its gradient too


class Distribution(Protocol):
    """Maths over (batch, n_params) tensors; actions are (batch, *action_shape) of ``action_dtype``."""

    n_params: int
    n_free: int  # parameters that do not depend on the state (log standard deviations)
    n_maskable: int  # logits an action mask stands for; 0 where actions cannot be masked
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

    def draw(self, params: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return ``sample`` and its ``log_prob``."""
        ...

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log_prob`` and ``entropy``."""
        ...

    def possible(self, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return for each row of masks whether it leaves an action."""
        ...

    def to_env(self, actions: Tensor) -> Any:
        """Return the actions as the env takes them."""
        ...


class _Pairs:
    """The paired questions, answered one by one."""

    def possible(self, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Any mask will do."""
        return np.ones(len(masks), np.bool_)

    def draw(self: Distribution, params: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return actions and their log probabilities."""
        actions = self.sample(params, noise)
        return actions, self.log_prob(params, actions)

    def evaluate(self: Distribution, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return log probabilities and entropies."""
        return self.log_prob(params, actions), self.entropy(params)


class Categorical:
    """One choice of n; a masked one is never drawn."""

    n_free = 0
    action_shape: tuple[int, ...] = ()
    action_dtype = torch.int64

    def __init__(self, n: int, start: int = 0) -> None:
        self.n_params = self.n_maskable = n
        self.start = start

    def sample(self, params: Tensor, noise: torch.Generator) -> Tensor:
        """Draw one choice a row."""
        return self.draw(params, noise)[0]

    def draw(self, params: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw the choice whose log probability plus Gumbel noise is largest: two steps less than a running sum."""
        log_p = torch.log_softmax(params, -1)
        waits = torch.empty_like(log_p).exponential_(generator=noise)
        actions = log_p.sub(waits.log_()).argmax(-1, keepdim=True)
        return actions.squeeze(-1), log_p.gather(-1, actions).squeeze(-1)

    def mode(self, params: Tensor) -> Tensor:
        """Return the largest logit's index."""
        return params.argmax(-1)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        """Return log softmax at the action."""
        return torch.log_softmax(params, -1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the entropy; a masked choice adds nothing."""
        log_p = torch.log_softmax(params, -1)
        return -(log_p.exp() * log_p).sum(-1)

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return both from one log softmax."""
        log_p = torch.log_softmax(params, -1)
        return log_p.gather(-1, actions.unsqueeze(-1)).squeeze(-1), -(log_p.exp() * log_p).sum(-1)

    def possible(self, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """One choice must be left."""
        return np.asarray(masks.any(1))

    def to_env(self, actions: Tensor) -> Any:
        """Return integers from the space's start on."""
        return actions.numpy() + self.start


class MultiCategorical(_Pairs):
    """Several choices at once, independent of each other."""

    n_free = 0
    action_dtype = torch.int64

    def __init__(self, counts: np.ndarray[Any, Any], starts: np.ndarray[Any, Any]) -> None:
        self._counts = [int(n) for n in counts.flatten()]
        self._parts = [Categorical(n) for n in self._counts]
        self.n_params = self.n_maskable = sum(self._counts)
        self.action_shape: tuple[int, ...] = (len(self._counts),)
        self._starts = starts

    def _split(self, params: Tensor) -> list[tuple[Categorical, Tensor]]:
        return list(zip(self._parts, torch.split(params, self._counts, -1), strict=True))

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

    def possible(self, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """One of each choice must be left."""
        parts = np.split(masks, np.cumsum(self._counts)[:-1], axis=1)
        return np.asarray(np.stack([part.any(1) for part in parts]).all(0))

    def to_env(self, actions: Tensor) -> Any:
        """Return integers from the space's starts on, in its shape."""
        return actions.numpy().reshape(-1, *self._starts.shape) + self._starts


class Bernoulli(_Pairs):
    """n switches, each on or off; a masked one stays off."""

    n_free = 0
    action_dtype = torch.int64

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape, n = shape, math.prod(shape)
        self.n_params = self.n_maskable = n
        self.action_shape: tuple[int, ...] = (n,)

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
        """Return zeros and ones of one byte, in the space's shape."""
        return actions.numpy().astype(np.int8).reshape(-1, *self._shape)


class Gaussian(_Pairs):
    """A diagonal Gaussian with standard deviations that do not depend on the state; clipped only for the env."""

    n_maskable = 0
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


class BetaBox(_Pairs):
    """A Beta distribution on each bounded axis, always inside the bounds; both parameters are above 1."""

    n_free = n_maskable = 0
    action_dtype = torch.float32

    def __init__(self, low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> None:
        self.n_params, self.action_shape = 2 * low.size, low.shape
        self._low, self._width = low, high - low

    def _parameters(self, params: Tensor) -> tuple[Tensor, Tensor]:
        alpha, beta = (BETA_SHARPNESS * F.softplus(params) + 1.0).chunk(2, -1)
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
        alpha, beta = self._parameters(params)
        x = actions.flatten(1)
        return ((alpha - 1) * x.log() + (beta - 1) * torch.log1p(-x) - _log_beta(alpha, beta)).sum(-1)

    def entropy(self, params: Tensor) -> Tensor:
        """Return the differential entropy on the unit interval."""
        alpha, beta = self._parameters(params)
        both, digamma = alpha + beta, torch.digamma
        pulls = (alpha - 1) * digamma(alpha) + (beta - 1) * digamma(beta) - (both - 2) * digamma(both)
        return (_log_beta(alpha, beta) - pulls).sum(-1)

    def to_env(self, actions: Tensor) -> Any:
        """Stretch the unit interval to the bounds."""
        return self._low + self._width * actions.numpy()


def _log_beta(alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)


def distribution_for(space: spaces.Space[Any], box: str = "gaussian") -> Distribution:
    """Return the distribution for an action space; ``box`` is gaussian or beta."""
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical(space.nvec, space.start)
    if isinstance(space, spaces.MultiBinary):
        return Bernoulli(space.shape)
    if isinstance(space, spaces.Box):
        bounded = bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
        if box == "beta" and not bounded:
            raise EnvError(f"a Beta policy needs bounded actions, but the action space is {space}; use gaussian")
        return BetaBox(space.low, space.high) if box == "beta" else Gaussian(space.low, space.high)
    raise EnvError(f"PPO cannot act in {space}; use Discrete, MultiDiscrete, MultiBinary or Box actions")
