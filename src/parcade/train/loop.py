"""The training loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parcade.train.training import Training


def learn(training: Training) -> None:
    """Play and learn in turns until the training is done."""
    rollouts, algorithm = training.rollouts, training.algorithm
    while not training.is_done:
        started = time.perf_counter()
        block = rollouts.play()
        played = time.perf_counter()
        training.use_all_threads()
        losses = algorithm.update(block, training.left)
        training.note(block, losses, played - started, time.perf_counter() - played)
