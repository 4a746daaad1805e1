"""A short look at the env before a training: a few steps of random play, in the worker that has slot 0."""

from __future__ import annotations

import logging

from parcade.errors import EnvError, PoolError
from parcade.pool.pool import Pool

log = logging.getLogger("parcade.train")


def look_at_env(pool: Pool) -> None:
    """Say once what is wrong with the pool's envs; raise EnvError where nothing can be learned in them.

    It takes well under a second and leaves slot 0 in any episode: reset the pool, or load it, before it plays.
    """
    label = pool.spec.label
    try:
        faults = pool.call(0, "check", "env")
    except PoolError as error:
        if not pool.alive:
            raise
        log.warning("%s could not be checked before the training: %s", label, error)
        return
    fatal = [fault.text for fault in faults if fault.is_fatal]
    if fatal:
        raise EnvError(f"{label} cannot be trained on: {' '.join(fatal)}")
    for fault in faults:
        log.warning("%s: %s", label, fault.text)
