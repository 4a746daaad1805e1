"""What both adapters say of an episode that ended, and of every step."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from parcade.env.slot import read_leaves
from parcade.pool.block import known_metrics
from parcade.pool.pool import Pool
from parcade.pool.progress import StepRows

Info = dict[str, Any]


class StepInfos:
    """Fetches the envs' infos once a step; without ``wanted`` every info is empty and nothing is sent."""

    def __init__(self, pool: Pool, wanted: bool) -> None:
        self._pool, self._wanted = pool, wanted

    def fetch(self) -> list[tuple[Info, Info]]:
        """Return for each slot the info told last, and the last one of the episode that ended last."""
        if not self._wanted:
            return [({}, {}) for _ in range(self._pool.n_envs)]
        told = self._pool.infos()
        if self._pool.n_workers == 0:  # not yet copies: the envs may go on writing them
            told = deepcopy(told)
        return [(dict(now), dict(final)) for now, final in told]


def final_observation(pool: Pool, rows: StepRows, at: int) -> Any:
    """Return the last observation of the episode that just ended in row ``at``, as the env itself would have."""
    return read_leaves(pool.observation_space, {leaf: _owned(array[at]) for leaf, array in rows.final.items()})


def _owned(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def episode_summary(pool: Pool, rows: StepRows, at: int) -> Info:
    """Return return, length and metrics of the episode that just ended in row ``at``."""
    summary = {"episode_return": float(rows.episode_return[at]), "episode_length": int(rows.episode_length[at])}
    return summary | known_metrics(pool.metric_names, rows.metrics[at])
