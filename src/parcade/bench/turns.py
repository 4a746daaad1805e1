"""A training that goes on in turns, beside others that are measured."""

from __future__ import annotations

import time
from contextlib import ExitStack

from parcade.config.settings import TrainSettings
from parcade.run.directory import RunFolder
from parcade.train.opening import Machines
from parcade.train.training import Training


class TrainingTurns:
    """A training that goes on in turns."""

    def __init__(
        self, settings: TrainSettings, folder: RunFolder, stack: ExitStack, machines: Machines | None = None
    ) -> None:
        self.training = stack.enter_context(Training(settings, folder, machines=machines))
        self.training.begin()
        self.updates, self.play_s, self.learn_s = 0, 0.0, 0.0

    def turn(self, seconds: float) -> float:
        """Play and learn for about ``seconds``; return steps per second."""
        training, steps, started = self.training, 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            training.scaling.before_play()
            now = time.perf_counter()
            block = training.rollouts.play()
            played = time.perf_counter()
            training.scaling.after_play()
            training.use_all_threads()
            losses = training.algorithm.update(block, 1.0)
            play_s, learn_s = played - now, time.perf_counter() - played
            training.note(block, losses, play_s, learn_s)
            self.updates, self.play_s, self.learn_s = self.updates + 1, self.play_s + play_s, self.learn_s + learn_s
            steps += block.env_steps
        return steps / (time.perf_counter() - started)

    def close(self) -> None:
        """Do nothing: who opened the stack closes it."""
