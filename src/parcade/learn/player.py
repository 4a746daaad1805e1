"""The policy as workers run it: a small fully connected network in NumPy, beside the envs.

Workers have no torch. The trainer computes the log probabilities of the chosen actions itself, from what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parcade.errors import EnvError
from parcade.learn.choices import Choices, choice_places
from parcade.pool.protocol import Array, Choose

# A row's result must not depend on how many rows its worker has, and matrix kernels may differ by the number of rows:
# every product is of this many, the last ones filled up.
BLOCK = 8


@dataclass(frozen=True, slots=True)
class CategoricalPlayer:
    """Draws one of n choices for each row, by the largest logit plus Gumbel noise."""

    leaves: tuple[str, ...]  # what the network sees, in the order of its first weights
    sizes: tuple[int, ...]  # numbers going into each layer, and out of the last
    activation: str
    choices: tuple[Choices, ...] = ()  # of each leaf whose numbers name choices; an empty one for the others
    normalised: bool = False  # the weights begin with a mean and a factor for each number seen
    mask: str | None = None  # the leaf whose zeros forbid choices
    start: int = 0  # the first choice's number
    limit: float = math.inf  # normalised numbers stay within +/- this

    @property
    def n_weights(self) -> int:
        """How many numbers ``prepare`` wants."""
        layers = sum((rows + 1) * width for rows, width in zip(self.sizes[:-1], self.sizes[1:], strict=True))
        return layers + (2 * self.sizes[0] if self.normalised else 0)

    def prepare(self, weights: Array, seed: int, slots: range, n_steps: int) -> Choose:
        """Return what draws the actions of these slots; each slot's noise depends on the seed and on itself only."""
        scale, layers = self._split(weights)
        noise = _noise(seed, slots, n_steps, self.sizes[-1])
        activate = np.tanh if self.activation == "tanh" else _relu
        n_rows = len(slots)
        one_hot = self.choices or ((),) * len(self.leaves)
        filled = -(-n_rows // BLOCK) * BLOCK
        seen, logits = np.zeros((filled, self.sizes[0]), np.float32), np.zeros((filled, self.sizes[-1]), np.float32)
        blocks = [slice(first, first + BLOCK) for first in range(0, filled, BLOCK)]

        def choose(step: int, rows: Mapping[str, Array]) -> Array:
            first = 0
            for leaf, choices in zip(self.leaves, one_hot, strict=True):
                flat = rows[leaf].reshape(n_rows, -1)
                size = sum(n for n, _ in choices) or flat.shape[1]
                if choices:
                    seen[:n_rows, first : first + size] = 0
                    np.put_along_axis(seen[:n_rows], flat + (np.array(choice_places(choices)) + first), 1, 1)
                else:
                    seen[:n_rows, first : first + size] = flat
                first += size
            if scale is not None:
                np.clip((seen - scale[0]) * scale[1], -self.limit, self.limit, out=seen)
            for block in blocks:
                x = seen[block]
                for weight, bias in layers[:-1]:
                    x = activate(x @ weight + bias)
                weight, bias = layers[-1]
                logits[block] = x @ weight + bias
            drawn = logits[:n_rows] + noise[step]
            if self.mask is not None:
                allowed = rows[self.mask].reshape(drawn.shape) != 0
                check_possible(allowed.any(1), slots, self.mask)
                drawn[~allowed] = -np.inf
            chosen: Array = drawn.argmax(1) + self.start
            return chosen

        return choose

    def _split(self, weights: Array) -> tuple[tuple[Array, Array] | None, list[tuple[Array, Array]]]:
        """Return mean and factor of what is seen, where it is scaled, and each layer's weights (in, out) and biases."""
        rest, scale = weights.copy(), None
        if self.normalised:
            mean, factor, rest = np.split(rest, [self.sizes[0], 2 * self.sizes[0]])
            scale = mean, factor
        layers = []
        for rows, width in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            weight, bias, rest = np.split(rest, [rows * width, (rows + 1) * width])
            layers.append((np.ascontiguousarray(weight.reshape(width, rows).T), bias))
        return scale, layers


def check_possible(possible: Array, slots: Sequence[int] | Array, leaf: str) -> None:
    """Refuse masks that leave a slot no choice: what would be learned from it is noise."""
    if not possible.all():
        raise EnvError(f"slot {slots[int(np.argmin(possible))]} shows an {leaf} that allows no action at all")


def _noise(seed: int, slots: range, n_steps: int, n: int) -> Array:
    """Return Gumbel noise (n_steps, slots, n)."""
    drawn = np.empty((n_steps, len(slots), n))
    for row, slot in enumerate(slots):
        drawn[:, row] = np.random.Generator(np.random.Philox(key=[seed, slot])).standard_exponential((n_steps, n))
    return -np.log(drawn, out=drawn)  # type: ignore[no-any-return]


def _relu(x: Array) -> Array:
    return np.maximum(x, 0, out=x)  # type: ignore[no-any-return]
