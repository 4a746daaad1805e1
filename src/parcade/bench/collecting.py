"""How playing rollouts scales with workers, and what the trainer does meanwhile."""

from __future__ import annotations

import statistics
import time
from typing import Any

from parcade.config.settings import TrainSettings
from parcade.host.cores import usable_cores
from parcade.learn.actors import actor_for, actor_weights
from parcade.pool.opening import open_pool
from parcade.pool.pool import Pool
from parcade.train.assembly import policy_of
from parcade.train.given import env_spec

ROUNDS = 3


def measure_collecting(settings: TrainSettings) -> list[dict[str, Any]]:
    """Play rollouts with one worker and with one for each core, in turns; return the medians of each."""
    counts = sorted({1, usable_cores()})
    pools = {count: open_pool(env_spec(settings), settings.envs, n_workers=count) for count in counts}
    rates: dict[int, list[tuple[float, float]]] = {count: [] for count in counts}
    try:
        for pool in pools.values():
            pool.reset()
        for round_ in range(ROUNDS + 1):
            for count, pool in pools.items():
                found = _play(pool, settings)
                if round_:  # the first one warms up
                    rates[count].append(found)
    finally:
        for pool in pools.values():
            pool.close()
    return [
        {
            "n_workers": count,
            "steps_per_s": statistics.median(rate for rate, _ in rates[count]),
            "trainer_cpu_share": statistics.median(share for _, share in rates[count]),
        }
        for count in counts
    ]


def _play(pool: Pool, settings: TrainSettings) -> tuple[float, float]:
    """Return steps per second of one rollout, and the share of the time in which the trainer's process computed."""
    policy = policy_of(settings, pool.observation_space, pool.action_space)
    actor, weights = actor_for(policy), actor_weights(policy)
    pool.make_room(settings.n_steps, actor)
    started, used = time.perf_counter(), time.process_time()
    pool.play(actor, weights, 0, settings.n_steps)
    seconds = time.perf_counter() - started
    return settings.rows_per_update / seconds, (time.process_time() - used) / seconds
