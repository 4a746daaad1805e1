"""Keys of ``info_keys`` that no info has: said once, after the first episodes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from parcade.env.info_metrics import InfoMetrics
from parcade.errors import ParcadeError, did_you_mean
from parcade.pool.block import Episode
from parcade.pool.pool import Pool

log = logging.getLogger("parcade.train")
ENOUGH = 10  # episodes: an env may tell some things only at some ends
_MOST_NAMED = 20


class InfoKeysCheck:
    """Waits for the first number under each key.

    With ``is_idle`` False the games play on meanwhile, and nobody asks them which keys there are.
    """

    def __init__(self, keys: Sequence[str], *, is_idle: bool) -> None:
        self._missing = set(InfoMetrics(keys).names[1:])
        self._is_idle, self._episodes = is_idle, 0

    def note(self, episodes: Sequence[Episode], pool: Pool) -> None:
        """Look at the episodes that ended in the newest block."""
        if not self._missing:
            return
        self._missing -= {key for episode in episodes for key in self._missing & set(episode.metrics)}
        self._episodes += len(episodes)
        if self._episodes < ENOUGH:
            return
        info = _final_info(pool, episodes[-1].slot) if self._is_idle and self._missing and episodes else {}
        for key in sorted(self._missing):
            log.warning("%s", _told(key, self._episodes, info))
        self._missing = set()


def _final_info(pool: Pool, slot: int) -> Mapping[str, Any]:
    try:
        return dict(pool.call(slot, "info", "infos")[1])
    except ParcadeError:  # a worker that cannot answer is told of elsewhere
        return {}


def _told(key: str, episodes: int, info: Mapping[str, Any]) -> str:
    if key in info:
        return f"info_keys: {key!r} is a {type(info[key]).__name__}, no number; its metric stays empty"
    names = sorted(str(name) for name in info)
    there = f"; an info has {', '.join(names[:_MOST_NAMED])}" if names else ""
    hint = did_you_mean(key, names)
    return f"info_keys: no info had {key!r}{hint} at the end of the first {episodes} episodes{there}"
