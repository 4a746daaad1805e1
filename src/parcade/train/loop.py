"""The training loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from parcade.train.learning_progress import update

if TYPE_CHECKING:
    from parcade.train.training import Training


def learn(training: Training) -> None:
    """Play and learn in turns until the training is done."""
    while not training.is_done:
        training.scaling.before_play()
        started = time.perf_counter()
        block = training.rollouts.play()
        played = time.perf_counter()
        training.scaling.after_play()
        training.use_all_threads()
        losses = update(training, block)
        training.note(block, losses, played - started, time.perf_counter() - played)
