"""Rollouts one after the other: played beside the games, or here for a policy on another device, or one ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from parcade.errors import ModelFileError, ParcadeError
from parcade.learn.algorithm import Algorithm
from parcade.learn.torch_actor import acting
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.pool import Pool


class PlayInterruptedError(ParcadeError):
    """A rollout was given up because somebody asked the training to end."""


class Rollouts:
    """Plays ``n_steps`` steps at a time.

    With ``overlap`` the next rollout is played with the weights before the update that follows, while that update is
    computed: two blocks take turns. What is needed to play it again is kept until then.
    """

    def __init__(self, pool: Pool, algorithm: Algorithm, n_steps: int, seed: int, *, overlap: bool = False) -> None:
        self._pool, self._algorithm, self._n_steps, self._seed = pool, algorithm, n_steps, seed
        self._overlap, self._turn = overlap, 0
        self._before: dict[str, Array] | None = None  # where the rollout under way began
        self._actor = algorithm.actor()
        self._acts_here = algorithm.policy.device.type != "cpu"
        self.is_given_up = False
        self.running: dict[str, float] = {}  # of the episodes under way at the end of the last rollout
        pool.make_room(n_steps, self._actor, 2 if overlap else 1)

    def while_waiting(self, look: Callable[[int], None]) -> None:
        """Have ``look`` called now and then while the games play, with the steps of the rollout taken so far."""
        self._pool.while_waiting = lambda: look(self._pool.progress.taken())

    def play(self) -> Block:
        """Return the next rollout."""
        torch.set_num_threads(1)  # the workers have the cores now
        try:
            if self._acts_here:
                block = self._pool.play_here(self._chooses(), self._n_steps)
                self.running = self._running()
                return block
            if self._before is None:
                self._start(self._algorithm.weights())
            block = self._pool.finish_play()
            self._before = None
            self.running = self._running()
            if self._overlap:
                self._start(self._algorithm.weights())
            return block
        except PlayInterruptedError:
            self.is_given_up = True
            raise

    def _start(self, weights: Array) -> None:
        if self._overlap:
            self._before = {**self._place(), "weights_ahead": weights.copy()}
        else:
            self._before = {}
        self._pool.start_play(self._actor, weights, self._seed, self._n_steps, self._turn)
        self._turn = 1 - self._turn if self._overlap else 0

    def _running(self) -> dict[str, float]:
        """Return how far the episodes under way are, averaged over the slots."""
        status = self._pool.status
        return {
            "return_mean": float(status["running_return"].mean()),
            "length_mean": float(status["running_length"].mean()),
        }

    def _chooses(self) -> list[Any]:
        policy = self._algorithm.policy
        return [acting(policy, self._seed, range(*part.indices(self._pool.n_envs))) for part in self._pool.parts]

    def _place(self, *, gives_up: bool = False) -> dict[str, Array]:
        memory = self._pool.progress.memory()
        return {**self._pool.dump(gives_up=gives_up), **({"memory": memory} if memory.size else {})}

    def state(self) -> dict[str, Array]:
        """Return what a checkpoint needs to play the next rollout: where the games are, and whose turn it is."""
        if self._overlap and self._before:
            return self._before
        return self._place(gives_up=self.is_given_up)

    def load_state(self, state: dict[str, Array]) -> None:
        """Go back to what ``state`` returned."""
        self._pool.load(state)
        wanted = self._pool.progress.memory().shape
        memory = state.get("memory", np.zeros((wanted[0], 0), np.float32))
        if memory.shape != wanted:
            raise ModelFileError(f"the checkpoint holds memory of shape {memory.shape}, wanted {wanted}")
        self._pool.progress.load_memory(memory)
        if self._overlap and "weights_ahead" in state:
            self._start(state["weights_ahead"])
