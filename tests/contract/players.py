"""Players for the pool's tests; workers import this: keep it light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scripted:
    """Presses what the weights say, (steps, slots) actions one after the other; the seed is where the script begins."""

    n_slots: int
    n_weights: int

    def prepare(self, weights, seed, slots, n_steps):
        script = np.asarray(weights).reshape(-1, self.n_slots)[seed:].astype(int)
        return lambda step, rows: script[step, slots.start : slots.stop]


@dataclass(frozen=True)
class Stumbling(Scripted):
    """Cannot go on at step 3."""

    def prepare(self, weights, seed, slots, n_steps):
        choose = super().prepare(weights, seed, slots, n_steps)

        def stumble(step, rows):
            if step == 3:
                raise ValueError("the player stumbles")
            return choose(step, rows)

        return stumble


@dataclass(frozen=True)
class Watchful(Scripted):
    """Presses what it sees: the parity of the first number of each row."""

    def prepare(self, weights, seed, slots, n_steps):
        return lambda step, rows: (np.abs(rows["obs"][:, 0] * 1000).astype(np.int64) + step) % 2


@dataclass(frozen=True)
class Nonsense(Scripted):
    """Chooses what cannot be chosen: ``kind`` is far, half, few or none."""

    kind: str = "far"

    def prepare(self, weights, seed, slots, n_steps):
        chosen = {
            "far": np.full(len(slots), 7),
            "half": np.full(len(slots), 0.5),
            "few": np.zeros(1, int),
            "none": None,
        }
        return lambda step, rows: chosen[self.kind]
