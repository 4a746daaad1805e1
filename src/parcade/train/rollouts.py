"""Rollouts one after the other: played beside the games, or here for a policy on another device, or one ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from parcade.env.milestones import tracked_milestones
from parcade.errors import ModelFileError, ParcadeError
from parcade.explore.explorer import Explorer
from parcade.learn.algorithm import Algorithm
from parcade.learn.torch_actor import acting
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.pool import Pool
from parcade.train.coaching import Coach

EXPLORED, COACHED = "explore:", "coach:"  # stand before the names of what explorer and coach keep


class PlayInterruptedError(ParcadeError):
    """A rollout was given up because somebody asked the training to end."""


class Rollouts:
    """Plays ``n_steps`` steps at a time.

    With ``overlap`` the next rollout is played with the weights before the update that follows, while that update is
    computed: two blocks take turns. What is needed to play it again is kept until then.
    """

    def __init__(
        self,
        pool: Pool,
        algorithm: Algorithm,
        n_steps: int,
        seed: int,
        *,
        overlap: bool = False,
        explorer: Explorer | None = None,
        coach: Coach | None = None,
    ) -> None:
        self._pool, self._algorithm, self._n_steps, self._seed = pool, algorithm, n_steps, seed
        self.explorer, self.coach = explorer, coach
        self._overlap, self._turn = overlap, 0
        self._before: dict[str, Array] | None = None  # where the rollout under way began
        self._played_from: dict[str, Array] = {}  # where the last rollout began, if it was noted
        self.notes_begin, self._is_taken_back = False, False
        self._actor = algorithm.actor()
        self._acts_here = algorithm.policy.device.type != "cpu"
        self.is_given_up = False
        self.milestones = tracked_milestones(pool.spec)
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
                self._played_from = self._place() if self.notes_begin else {}
                block = self._pool.play_here(self._chooses(), self._n_steps)
                self._look_at(block)
                return block
            if self._before is None:
                self._start(self._algorithm.weights())
            block = self._pool.finish_play()
            self._played_from, self._before = self._before or {}, None
            self._look_at(block)
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
            self._before = self._place() if self.notes_begin else {}
        self._pool.start_play(self._actor, weights, self._seed, self._n_steps, self._turn)
        self._turn = 1 - self._turn if self._overlap else 0

    def _look_at(self, block: Block) -> None:
        """Note how far the games are; bonuses and the next episodes' starts are settled before the next rollout."""
        self.running = self._running()
        if self.explorer is not None:
            self.explorer.after(block)
        if self.coach is not None:
            self.coach.after(block, self._pool)

    @property
    def can_take_back(self) -> bool:
        """Whether ``state`` can be that of before the last rollout; ``notes_begin`` has it noted, at some cost."""
        return bool(self._played_from)

    def take_back(self) -> None:
        """Have ``state`` return where the last rollout began: nobody has learned from it, so it is played again."""
        self._is_taken_back = True

    def begin(self) -> None:
        """Stand where the pool stands after its first reset."""
        if self.explorer is not None:
            self.explorer.begin()
        if self.coach is not None:
            self.coach.begin(self._pool)

    def _running(self) -> dict[str, float]:
        """Return how far the episodes under way are, averaged over the slots."""
        status = self._pool.status
        shares = {
            milestone.metric: float((status[name] >> np.uint64(bit) & 1).mean())
            for name, told in self.milestones.items()
            for bit, milestone in enumerate(told)
        }
        return {
            "return_mean": float(status["running_return"].mean()),
            "length_mean": float(status["running_length"].mean()),
            **shares,
        }

    def _chooses(self) -> list[Any]:
        policy = self._algorithm.policy
        return [acting(policy, self._seed, range(*part.indices(self._pool.n_envs))) for part in self._pool.parts]

    def _place(self, *, gives_up: bool = False) -> dict[str, Array]:
        memory = self._pool.progress.memory()
        explored = {} if self.explorer is None else self.explorer.state()
        return {
            **self._pool.dump(gives_up=gives_up),
            **({"memory": memory} if memory.size else {}),
            **{f"{EXPLORED}{name}": array for name, array in explored.items()},
            **({} if self.coach is None else {f"{COACHED}{name}": one for name, one in self.coach.state().items()}),
        }

    def state(self) -> dict[str, Array]:
        """Return what a checkpoint needs to play the next rollout: where the games are, and whose turn it is."""
        if self._is_taken_back:
            return self._played_from
        if self._overlap and self._before:
            return self._before
        return self._place(gives_up=self.is_given_up)

    def move_to(self, pool: Pool) -> None:
        """Go on in another pool, exactly where this one stands; where that fails nothing has changed.

        With ``overlap`` the rollout under way is played again there, with the weights it began with.
        """
        state, before = self.state(), (self._pool, self._before, self._turn)
        self._pool, self._before, self._turn = pool, None, 0
        try:
            pool.make_room(self._n_steps, self._actor, 2 if self._overlap else 1)
            self._explore_in(pool)
            self.load_state(state)
        except BaseException:
            self._pool, self._before, self._turn = before
            self._explore_in(self._pool)
            if self.explorer is not None:
                self.explorer.begin()
            raise
        pool.restarts[:0] = before[0].restarts
        pool.while_waiting = before[0].while_waiting

    def _explore_in(self, pool: Pool) -> None:
        if self.explorer is not None:
            self.explorer.pool = pool

    def load_state(self, state: dict[str, Array]) -> None:
        """Go back to what ``state`` returned."""
        guides = () if self.coach is None else self.coach.load_state(_named(COACHED, state), self._pool)
        if self.explorer is None:
            self._pool.load(state, None, guides)
        else:
            self._pool.load(state, self.explorer.load_state(_named(EXPLORED, state)), guides)
            self.explorer.begin()
        wanted = self._pool.progress.memory().shape
        memory = state.get("memory", np.zeros((wanted[0], 0), np.float32))
        if memory.shape != wanted:
            raise ModelFileError(f"the checkpoint holds memory of shape {memory.shape}, wanted {wanted}")
        self._pool.progress.load_memory(memory)
        if self._overlap and "weights_ahead" in state:
            self._start(state["weights_ahead"])


def _named(prefix: str, state: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
