"""Actors for the pool's tests; workers import this: keep it light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parcade.pool.actor import ActorShape


@dataclass(frozen=True)
class Scripted:
    """Presses what the weights say, (steps, slots) actions one after the other; the seed is where the script begins."""

    n_slots: int
    n_weights: int

    @property
    def shape(self):
        return ActorShape(self.n_weights)

    def prepare(self, weights, seed, slots):
        script = np.asarray(weights).reshape(-1, self.n_slots)[seed:].astype(int)
        return lambda rows: script[rows.step, slots.start : slots.stop : slots.step]


@dataclass(frozen=True)
class Stumbling(Scripted):
    """Cannot go on at step 3."""

    def prepare(self, weights, seed, slots):
        choose = super().prepare(weights, seed, slots)

        def stumble(rows):
            if rows.step == 3:
                raise ValueError("the actor stumbles")
            return choose(rows)

        return stumble


@dataclass(frozen=True)
class Watchful(Scripted):
    """Presses what it sees: the parity of the first number of each row."""

    def prepare(self, weights, seed, slots):
        return lambda rows: (np.abs(rows.obs["obs"][:, 0] * 1000).astype(np.int64) + rows.episode_step) % 2


@dataclass(frozen=True)
class Remembering(Scripted):
    """Presses the parity of all it has ever seen in the episode, which only its memory holds."""

    @property
    def shape(self):
        return ActorShape(self.n_weights, state_size=2, n_params=1, drawn_shape=(), has_values=True)

    def prepare(self, weights, seed, slots):
        def choose(rows):
            before = np.where(rows.episode_step[:, None] == 0, 0, rows.memory)
            rows.memory_after[:, 0] = before[:, 0] * 0.7 + rows.obs["obs"][:, 0]
            rows.memory_after[:, 1] = before[:, 1] + 1
            assert (rows.memory_after[:, 1] == rows.episode_step + 1).all()
            chosen = np.abs(rows.memory_after[:, 0] * 1000).astype(np.int64) % 2
            rows.params[:, 0], rows.value[:], rows.drawn[:] = rows.memory_after[:, 0], rows.episode_seed % 97, chosen
            return chosen

        return choose


@dataclass(frozen=True)
class Nonsense(Scripted):
    """Chooses what cannot be chosen: ``kind`` is far, half, few or none."""

    kind: str = "far"

    def prepare(self, weights, seed, slots):
        chosen = {
            "far": np.full(len(slots), 7),
            "half": np.full(len(slots), 0.5),
            "few": np.zeros(1, int),
            "none": None,
        }
        return lambda rows: chosen[self.kind]


@dataclass(frozen=True)
class Wayfarer:
    """Goes the way on Lantern's map, as the features from ``first`` on tell it; every fifth step is the sword."""

    first: int

    @property
    def shape(self):
        return ActorShape(0)

    def prepare(self, weights, seed, slots):
        def choose(rows):
            ways = rows.obs["obs"][:, self.first : self.first + 4] > 0
            turn = (rows.episode_step // 7) % 2 == 1  # where two ways are open, now the one, now the other
            way = np.where(turn, 4 - np.argmax(ways[:, ::-1], 1), 1 + np.argmax(ways, 1))
            return np.where(rows.episode_step % 5 == 4, 5, way)

        return choose
