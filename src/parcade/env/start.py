"""Where an episode begins: at its seed's own start, or after some actions from there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parcade.env.slot import Rows, SlotEnv


def begin_after(env: SlotEnv, seed: int, prefix: Iterable[Any], rows: Rows) -> None:
    """Start the episode of ``seed``, take the actions of ``prefix`` and write the observation after them."""
    env.begin(seed, rows)
    for action in prefix:
        env.advance(action, rows)
