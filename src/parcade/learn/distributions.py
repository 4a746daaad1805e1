"""How likely an action is, for each kind of action space; ``sampling`` draws them."""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from parcade.errors import EnvError
from parcade.learn.sampling import BETA_SHARPNESS


class Distribution(Protocol):
    """Maths over (batch, n_params) tensors; actions are (batch, ...) as the sampler of the space draws them."""

    n_params: int
    n_free: int  # parameters that do not depend on the state (log standard deviations)
    n_maskable: int  # logits an action mask stands for; 0 where actions cannot be masked

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log probability of each row's action, and each row's entropy."""
        ...


class Categorical:
    """One choice of n; a masked one adds nothing to the entropy."""

    n_free = 0

    def __init__(self, n: int) -> None:
        self.n_params = self.n_maskable = n

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return both from one log softmax."""
        log_p = torch.log_softmax(params, -1)
        return log_p.gather(-1, actions.unsqueeze(-1)).squeeze(-1), -(log_p.exp() * log_p).sum(-1)


class MultiCategorical:
    """Several choices at once, independent of each other."""

    n_free = 0

    def __init__(self, counts: list[int]) -> None:
        self._counts, self._parts = counts, [Categorical(n) for n in counts]
        self.n_params = self.n_maskable = sum(counts)

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums over all choices."""
        split = zip(self._parts, torch.split(params, self._counts, -1), actions.unbind(1), strict=True)
        log_probs, entropies = zip(*(part.evaluate(p, chosen) for part, p, chosen in split), strict=True)
        return torch.stack(log_probs, -1).sum(-1), torch.stack(entropies, -1).sum(-1)


class Bernoulli:
    """n switches, each on or off."""

    n_free = 0

    def __init__(self, n: int) -> None:
        self.n_params = self.n_maskable = n

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums over all switches."""
        chosen = actions.to(params.dtype)
        log_probs = -F.binary_cross_entropy_with_logits(params, chosen, reduction="none").sum(-1)
        p = torch.sigmoid(params)
        return log_probs, F.binary_cross_entropy_with_logits(params, p, reduction="none").sum(-1)


class Gaussian:
    """A normal distribution on each axis; its spread does not depend on the state."""

    n_maskable = 0

    def __init__(self, size: int) -> None:
        self.n_params = self.n_free = size

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density before clipping, and the differential entropy."""
        mean, log_std = params.chunk(2, -1)
        scaled = (actions.reshape(mean.shape) - mean) / log_std.exp()
        log_probs = (-0.5 * scaled.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        return log_probs, (log_std + 0.5 + 0.5 * math.log(2 * math.pi)).sum(-1)


class BetaBox:
    """A Beta distribution on each bounded axis; both parameters are above 1."""

    n_free = n_maskable = 0

    def __init__(self, size: int) -> None:
        self.n_params = 2 * size

    def evaluate(self, params: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density and the differential entropy, both on the unit interval."""
        alpha, beta = (BETA_SHARPNESS * F.softplus(params) + 1.0).chunk(2, -1)
        x, both, log_beta = actions.reshape(alpha.shape), alpha + beta, _log_beta(alpha, beta)
        log_probs = ((alpha - 1) * x.log() + (beta - 1) * torch.log1p(-x) - log_beta).sum(-1)
        digamma = torch.digamma
        pulls = (alpha - 1) * digamma(alpha) + (beta - 1) * digamma(beta) - (both - 2) * digamma(both)
        return log_probs, (log_beta - pulls).sum(-1)


def _log_beta(alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)


def distribution_for(space: spaces.Space[Any], box: str = "gaussian") -> Distribution:
    """Return the distribution for an action space; ``box`` is gaussian or beta."""
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical([int(n) for n in space.nvec.flatten()])
    if isinstance(space, spaces.MultiBinary):
        return Bernoulli(math.prod(space.shape))
    if isinstance(space, spaces.Box):
        size = math.prod(space.shape)
        return BetaBox(size) if box == "beta" else Gaussian(size)
    raise EnvError(f"a policy cannot act in {space}; use Discrete, MultiDiscrete, MultiBinary or Box actions")
