"""Between two updates: moves the games to other workers, because somebody asked for it or because the machine changed.

A slot is its episode's seed and the actions since, so it goes on in any process as if it had stayed: the way of
``parcade resume``, without the stop.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from parcade.errors import ParcadeError, SettingsError
from parcade.pool.pool import Pool
from parcade.run.scale_order import AUTO, ScaleAnswer, ScaleOrder, answer, take_order
from parcade.train import events
from parcade.train.assembly import pool_of
from parcade.train.follow import START_S, Follower, Layout, can_follow

if TYPE_CHECKING:
    from parcade.train.training import Training

log = logging.getLogger("parcade.train")


class Scaling:
    """Watches a training's folder for orders, and the machine where it is to follow it."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._follower: Follower | None = None
        self._step_s = 0.0  # of one env step in the last rollout
        if training.settings.follow_machine:
            self._follow()

    def _follow(self) -> None:
        if self._training.settings.overlap:
            raise SettingsError("overlap plays while it learns, so it cannot be told who else uses a core")
        if not can_follow():
            raise SettingsError("this system does not tell how long a process waits for a core")
        self._follower = Follower()

    def before_play(self) -> None:
        """Take an order, or follow the machine; the games stand still."""
        order = take_order(self._training.folder.path)
        if order is not None:
            self._obey(order)
        elif self._follower is not None:
            layout = self._follower.wanted(self._training.pool, self._cost_s())
            if layout is not None:
                self._follow_to(layout)
        if self._follower is not None:
            self._follower.before_play(self._training.pool)

    def after_play(self) -> None:
        """Look at what the workers got."""
        if self._follower is not None:
            self._follower.after_play(self._training.pool)

    def note(self, play_s: float, env_steps: int) -> None:
        """Note what a step takes: steps are taken again in a move."""
        self._step_s = play_s / env_steps

    def _cost_s(self) -> float:
        """Return about how long a move takes."""
        return START_S + self._step_s * float(self._training.pool.progress.journal.length.sum())

    def _obey(self, order: ScaleOrder) -> None:
        try:
            words, seconds = self._done(order)
            done = True
        except ParcadeError as error:
            done, words, seconds = False, str(error), 0.0
            log.warning("the workers stay as they are: %s", error)
        told = ScaleAnswer(order.number, done, words, self._training.pool.n_workers, seconds)
        answer(self._training.folder.path, told)

    def _done(self, order: ScaleOrder) -> tuple[str, float]:
        if self._training.settings.learners > 1:
            raise SettingsError("learners have workers of their own; stop the run and resume it with --n-workers")
        if order.n_workers == AUTO:
            self._follow()
            return "the workers follow the machine from now on", 0.0
        self._follower = None
        before, n_workers = self._training.pool.n_workers, order.n_workers
        if self._training.settings.follow_machine or before != min(n_workers, self._training.pool.n_envs):
            seconds = self._move(lambda: self._open(n_workers=n_workers), "parcade scale")
        else:
            seconds = 0.0
        return f"{before} -> {self._training.pool.n_workers} workers", seconds

    def _follow_to(self, layout: Layout) -> None:
        n_workers, weights = len(layout.cpus), layout.weights
        try:
            self._move(
                lambda: self._open(n_workers=n_workers, weights=weights, cpus=layout.cpus), "the machine changed"
            )
        except ParcadeError as error:
            log.warning("the workers stay as they are: %s", error)

    def _open(self, n_workers: int, **options: object) -> Pool:
        training = self._training
        return pool_of(training.spec_played, training.settings.model_copy(update={"n_workers": n_workers}), **options)

    def _move(self, opened: Callable[[], Pool], why: str) -> float:
        """Open another pool and go on there; where that fails, everything stays as it was."""
        training, started = self._training, time.perf_counter()
        before, pool = training.pool, opened()
        try:
            training.move_to(pool)
        except BaseException:
            pool.close(at_once=True)
            raise
        seconds = time.perf_counter() - started
        training.seconds += seconds
        shares = "+".join(str(len(slots)) for slots in pool.shares)
        log.info(
            "workers=%d before=%d shares=%s seconds=%.2f: %s", pool.n_workers, before.n_workers, shares, seconds, why
        )
        training.tell(events.Moved(before.n_workers, pool.n_workers, seconds, why))
        return seconds
