"""Tells how far an update is, and gives it up on request: with large rollouts and many epochs one takes minutes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from parcade.errors import ParcadeError
from parcade.learn.algorithm import Algorithm
from parcade.pool.block import Block

if TYPE_CHECKING:
    from parcade.train.training import Training

PATIENCE_S, EVERY_S = 2.0, 0.5  # how long an update is nobody's business, and how often one that takes longer is
GRACE_S = 1.0  # for an update to end by itself, once somebody asked the training to end


class UpdateInterruptedError(ParcadeError):
    """An update was given up because somebody asked the training to end."""


def follow_learning(algorithm: Algorithm, tell: Callable[[float], None], gives_up: Callable[[], bool]) -> None:
    """Have ``tell`` called with the share of a long update that is done.

    Where ``gives_up`` stays true for a while, the update raises UpdateInterruptedError.
    """
    before, next_s, asked_s = 1.0, 0.0, 0.0

    def hear(share: float) -> None:
        nonlocal before, next_s, asked_s
        now_s = time.monotonic()
        if share < before or share == before == 1.0:  # another update
            next_s = now_s + PATIENCE_S
        before = share
        if now_s >= next_s:
            next_s = now_s + EVERY_S
            tell(share)
        if gives_up():
            asked_s = asked_s or now_s
            if now_s - asked_s >= GRACE_S:
                raise UpdateInterruptedError

    algorithm.while_learning = hear


def update(training: Training, block: Block) -> dict[str, float]:
    """Learn from a block; an update that is given up leaves everything as it was before the block was played."""
    algorithm, rollouts, started_s = training.algorithm, training.rollouts, time.monotonic()
    losses = _update(training, block) if rollouts.can_take_back else algorithm.update(block, training.left)
    # Notes of where a rollout begins have their price: short updates are never given up.
    rollouts.notes_begin = algorithm.can_be_given_up and time.monotonic() - started_s > GRACE_S / 2
    return losses


def _update(training: Training, block: Block) -> dict[str, float]:
    algorithm = training.algorithm
    weights = {name: tensor.clone() for name, tensor in algorithm.policy.state_dict().items()}
    state = {name: tensor.clone() for name, tensor in algorithm.state().items()}
    try:
        return algorithm.update(block, training.left)
    except UpdateInterruptedError:
        algorithm.policy.load_state_dict(weights)
        algorithm.load_state(state)
        training.rollouts.take_back()
        training.dropped_steps = block.env_steps
        raise
