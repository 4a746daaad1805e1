"""Play a game under test by a random policy, and keep everything it said."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcade.console.base import Console, button_mask
from parcade.game.base import Features, Game


@dataclass(frozen=True, slots=True)
class Moment:
    """What the game said after one step; ``before`` and ``parts`` are empty at the start."""

    before: Any
    state: Any
    progress_before: Any
    progress: Any
    parts: dict[str, float]
    features: Features
    over: Any
    metrics: dict[str, float]


@dataclass(slots=True)
class CountingMemory:
    """A console's memory that counts what is asked of it."""

    console: Console
    calls: int = 0
    n_bytes: int = 0

    def read(self, address: int, length: int) -> bytes | memoryview:
        """Return what the console returns."""
        self.calls += 1
        self.n_bytes += length
        return self.console.read(address, length)


class Examiner:
    """A game on a console, with the start of every episode."""

    def __init__(self, console: Console, game: Game[Any, Any], save_states: list[bytes], steps: int) -> None:
        self.console, self.game, self.steps = console, game, steps
        self._start = game.start_from_state if save_states else game.start
        self._save_states = save_states or ([] if game.restarts_itself else [console.save()])

    def start(self, seed: int) -> None:
        """Bring the console to the first moment of the episode ``seed``, as the env does."""
        if self._save_states:
            self.console.load(self._save_states[seed % len(self._save_states)])
            self.console.advance(0, 1, draw=False)
        self._start(self.console, seed)

    def episode(self, seed: int) -> list[Moment]:
        """Return the episode ``seed`` under actions drawn from the same seed, until it is over."""
        return list(self._moments(seed))

    def _moments(self, seed: int) -> Iterator[Moment]:
        game, rng = self.game, np.random.default_rng([seed])
        masks = [button_mask(self.console.buttons, *action.buttons) for action in game.actions]
        self.start(seed)
        state = game.read(self.console)
        progress = game.begin(state)
        yield self._moment(None, state, None, progress, {})
        for _ in range(self.steps):
            self.console.advance(masks[int(rng.integers(len(masks)))], game.frame_skip, draw=False)
            before, state, progress_before = state, game.read(self.console), copy.deepcopy(progress)
            parts = game.reward(progress, before, state)
            moment = self._moment(before, state, progress_before, progress, parts)
            yield moment
            if moment.over:
                return

    def _moment(self, before: Any, state: Any, progress_before: Any, progress: Any, parts: dict[str, float]) -> Moment:
        game = self.game
        features = np.full(len(game.feature_names), np.nan, np.float32)  # poisoned: what is not written shows
        game.features(state, progress, features)
        over, metrics = game.over(state, progress), game.metrics(progress, state)
        return Moment(before, state, progress_before, copy.deepcopy(progress), parts, features, over, metrics)
