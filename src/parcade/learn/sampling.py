"""How an action is drawn, for each kind of action space: noise in, action out. NumPy only: workers need no torch.

The noise of an episode's step depends on the actor's seed, the episode's seed and the step, and on nothing else.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.errors import EnvError

Array = npt.NDArray[Any]
BETA_SHARPNESS = 4.0  # with 1 the spread hardly shrinks: the network's outputs would have to grow to ten and more
MASKED = -1e9  # the logit of a forbidden choice: its probability is exactly zero, and its gradient too
_CHUNK = 32  # steps whose noise is drawn at once
_BETA_EDGE = 1e-6
_GAMMA_TRIES = 8  # each fails in at most one of twenty cases


class Sampler(abc.ABC):
    """Actions of one space."""

    noise_shape: tuple[int, ...]
    drawn_shape: tuple[int, ...]
    drawn_dtype: str

    @abc.abstractmethod
    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return what ``draw`` needs for each step, (n_steps, *noise_shape)."""

    @abc.abstractmethod
    def draw(self, params: Array, noise: Array | None) -> Array:
        """Return an action for each row of parameters, (rows, *drawn_shape); the likeliest one without noise."""

    @abc.abstractmethod
    def to_env(self, drawn: Array) -> Array:
        """Return the actions as the env takes them."""

    @abc.abstractmethod
    def from_env(self, actions: Array) -> Array:
        """Return what would have to be drawn for these actions of the env, (rows, *drawn_shape)."""

    @abc.abstractmethod
    def is_drawn(self, drawn: Array) -> Array:
        """Return for each number whether ``draw`` could have returned it: actions may come from a file."""

    def possible(self, masks: Array) -> Array:
        """Return for each row of masks whether it leaves an action."""
        return np.ones(len(masks), np.bool_)


class CategoricalSampler(Sampler):
    """One choice of n: the one whose logit plus Gumbel noise is largest."""

    drawn_shape = ()
    drawn_dtype = "<i8"

    def __init__(self, n: int, start: int = 0) -> None:
        self.noise_shape, self._start = (n,), start

    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return Gumbel noise."""
        return _gumbel(random, (n_steps, *self.noise_shape))

    def draw(self, params: Array, noise: Array | None) -> Array:
        """Return a choice for each row."""
        return np.asarray((params if noise is None else params + noise).argmax(1))

    def to_env(self, drawn: Array) -> Array:
        """Return integers from the space's start on."""
        return drawn + self._start

    def from_env(self, actions: Array) -> Array:
        """Return integers from 0 on."""
        return actions.astype(np.int64) - self._start

    def is_drawn(self, drawn: Array) -> Array:
        """A choice is counted from 0."""
        return np.asarray((drawn >= 0) & (drawn < self.noise_shape[0]))

    def possible(self, masks: Array) -> Array:
        """One choice must be left."""
        return np.asarray(masks.any(1))


class MultiCategoricalSampler(Sampler):
    """Several choices at once, independent of each other."""

    drawn_dtype = "<i8"

    def __init__(self, counts: Array, starts: Array) -> None:
        sizes = [int(n) for n in counts.flatten()]
        self.noise_shape = (sum(sizes),)
        self.drawn_shape = (len(sizes),)
        self._sizes, self._borders, self._starts = np.array(sizes), np.cumsum(sizes)[:-1], starts

    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return Gumbel noise."""
        return _gumbel(random, (n_steps, *self.noise_shape))

    def draw(self, params: Array, noise: Array | None) -> Array:
        """Return each choice."""
        parts = np.split(params if noise is None else params + noise, self._borders, 1)
        return np.stack([part.argmax(1) for part in parts], 1)

    def to_env(self, drawn: Array) -> Array:
        """Return integers from the space's starts on, in its shape."""
        return drawn.reshape(-1, *self._starts.shape) + self._starts

    def from_env(self, actions: Array) -> Array:
        """Return integers from 0 on, in a row."""
        return (actions.astype(np.int64) - self._starts).reshape(-1, *self.drawn_shape)

    def is_drawn(self, drawn: Array) -> Array:
        """Each choice is counted from 0."""
        return np.asarray((drawn >= 0) & (drawn < self._sizes))

    def possible(self, masks: Array) -> Array:
        """One of each choice must be left."""
        return np.asarray(np.stack([part.any(1) for part in np.split(masks, self._borders, 1)]).all(0))


class BernoulliSampler(Sampler):
    """n switches, each on or off; a masked one stays off."""

    drawn_dtype = "<i8"

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self.noise_shape = self.drawn_shape = (math.prod(shape),)

    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return logistic noise."""
        return random.logistic(size=(n_steps, *self.noise_shape))

    def draw(self, params: Array, noise: Array | None) -> Array:
        """Switch on where logit plus noise is positive."""
        return np.asarray((params if noise is None else params + noise) > 0, np.int64)

    def to_env(self, drawn: Array) -> Array:
        """Return zeros and ones in the space's shape."""
        return drawn.reshape(-1, *self._shape)

    def from_env(self, actions: Array) -> Array:
        """Return zeros and ones in a row."""
        return actions.astype(np.int64).reshape(-1, *self.drawn_shape)

    def is_drawn(self, drawn: Array) -> Array:
        """A switch is 0 or 1."""
        return np.asarray((drawn == 0) | (drawn == 1))


class GaussianSampler(Sampler):
    """A normal distribution on each axis; what leaves the bounds is clipped on its way to the env only."""

    drawn_dtype = "<f4"

    def __init__(self, low: Array, high: Array) -> None:
        self.noise_shape, self.drawn_shape, self._low, self._high = (low.size,), low.shape, low, high

    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return normal noise."""
        return random.standard_normal((n_steps, *self.noise_shape))

    def draw(self, params: Array, noise: Array | None) -> Array:
        """Return mean plus spread times noise."""
        mean, log_std = np.split(params, 2, 1)
        drawn = mean if noise is None else mean + np.exp(log_std) * noise
        return drawn.astype(np.float32).reshape(-1, *self.drawn_shape)

    def to_env(self, drawn: Array) -> Array:
        """Clip to the space."""
        return np.clip(drawn, self._low, self._high)

    def from_env(self, actions: Array) -> Array:
        """Return them as they are; what was clipped on its way to the env stays so."""
        return actions.astype(np.float32)

    def is_drawn(self, drawn: Array) -> Array:
        """Any number may be drawn, within the bounds or not."""
        return np.isfinite(drawn)


class BetaSampler(Sampler):
    """A Beta distribution on each bounded axis, as a ratio of two gammas; both parameters are above 1."""

    drawn_dtype = "<f4"

    def __init__(self, low: Array, high: Array) -> None:
        self.drawn_shape, self._low, self._width = low.shape, low, high - low
        self.noise_shape = (2, 2 * low.size, _GAMMA_TRIES)

    def noise(self, random: np.random.Generator, n_steps: int) -> Array:
        """Return, for each gamma, tries of a normal number and of the logarithm of a uniform one."""
        tries = (n_steps, *self.noise_shape[1:])
        return np.stack([random.standard_normal(tries), -random.standard_exponential(tries)], 1)

    def draw(self, params: Array, noise: Array | None) -> Array:
        """Draw off the very ends, where the density may be zero; the likeliest is the mean, which drives smoother."""
        shapes = BETA_SHARPNESS * np.logaddexp(0.0, params.astype(np.float64)) + 1.0
        gammas = shapes if noise is None else _gamma(shapes, noise[:, 0], noise[:, 1])
        first, second = np.split(gammas, 2, 1)
        share: Array = np.clip(first / (first + second), _BETA_EDGE, 1 - _BETA_EDGE)
        return share.astype(np.float32).reshape(-1, *self.drawn_shape)

    def to_env(self, drawn: Array) -> Array:
        """Stretch the unit interval to the bounds."""
        return np.asarray(self._low + self._width * drawn, np.float32)

    def from_env(self, actions: Array) -> Array:
        """Shrink the bounds to the unit interval, off its very ends."""
        share = np.clip((actions - self._low) / self._width, _BETA_EDGE, 1 - _BETA_EDGE)
        return np.asarray(share, np.float32)

    def is_drawn(self, drawn: Array) -> Array:
        """A share of the width, off the very ends."""
        return np.asarray((drawn > 0) & (drawn < 1))


def _gumbel(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(-np.log(random.standard_exponential(shape)))


def _gamma(shape: Array, normal: Array, log_uniform: Array) -> Array:
    """Return gamma variates by the method of Marsaglia and Tsang (2000), the first try of each that is accepted."""
    d = (shape - 1.0 / 3.0)[..., None]
    v = (1.0 + normal / np.sqrt(9.0 * d)) ** 3
    with np.errstate(invalid="ignore", divide="ignore"):
        accepted = (v > 0) & (log_uniform < 0.5 * normal**2 + d - d * v + d * np.log(v))
    accepted[..., -1] |= ~accepted.any(-1)
    chosen = np.take_along_axis(v, accepted.argmax(-1)[..., None], -1)
    return np.asarray((d * np.abs(chosen))[..., 0])


def sampler_for(space: spaces.Space[Any], box: str = "gaussian") -> Sampler:
    """Return the sampler of an action space; ``box`` is gaussian or beta."""
    if isinstance(space, spaces.Discrete):
        return CategoricalSampler(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategoricalSampler(space.nvec, space.start)
    if isinstance(space, spaces.MultiBinary):
        return BernoulliSampler(space.shape)
    if isinstance(space, spaces.Box):
        bounded = bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
        if box == "beta" and not bounded:
            raise EnvError(f"a Beta policy needs bounded actions, but the action space is {space}; use gaussian")
        return BetaSampler(space.low, space.high) if box == "beta" else GaussianSampler(space.low, space.high)
    raise EnvError(f"a policy cannot act in {space}; use Discrete, MultiDiscrete, MultiBinary or Box actions")


class EpisodeNoise:
    """The noise of some slots' steps, drawn in chunks that any process finds again."""

    def __init__(self, sampler: Sampler, seed: int, n_slots: int) -> None:
        self._sampler, self._seed, self._rows = sampler, seed, np.arange(n_slots)
        self._held = np.full((2, n_slots), -1, np.int64)  # episode seed and chunk that each slot's buffer holds
        self._buffer = np.zeros((n_slots, _CHUNK, *sampler.noise_shape))

    def at(self, episode_seed: Array, episode_step: Array) -> Array:
        """Return the noise of these steps, a row for each slot."""
        chunk, step = np.divmod(episode_step, _CHUNK)
        stale = (self._held[0] != episode_seed) | (self._held[1] != chunk)
        if stale.any():
            for row in np.flatnonzero(stale):
                bits = np.random.Philox(key=[self._seed, int(episode_seed[row])], counter=[0, 0, 0, int(chunk[row])])
                self._buffer[row] = self._sampler.noise(np.random.Generator(bits), _CHUNK)
            self._held[:, stale] = episode_seed[stale], chunk[stale]
        return self._buffer[self._rows, step]


def check_possible(possible: Array, slots: Sequence[int], leaf: str) -> None:
    """Refuse masks that leave a slot no choice: what would be learned from it is noise."""
    if not possible.all():
        raise EnvError(f"slot {slots[int(np.argmin(possible))]} shows an {leaf} that allows no action at all")
