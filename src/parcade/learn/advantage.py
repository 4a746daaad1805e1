"""Generalised advantage estimation; an ended episode and a cut one are not the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatTN = npt.NDArray[np.float32]
BoolTN = npt.NDArray[np.bool_]


def gae(
    rewards: FloatTN,
    values: FloatTN,
    terminated: BoolTN,
    truncated: BoolTN,
    final_values: FloatTN,
    gamma: float,
    gae_lambda: float,
) -> tuple[FloatTN, FloatTN]:
    """Return advantages and returns, both (T, N).

    ``values`` is (T + 1, N): the value of the observation each step started from, and of the one after the last.
    ``final_values`` is (T, N): where ``truncated``, the value of the observation the episode was cut at; there the
    future is worth that much. Where ``terminated``, the future is worth nothing. Nothing flows over either border.
    """
    steps = len(rewards)
    advantages = np.zeros_like(rewards)
    carried = np.zeros_like(rewards[0])
    for t in range(steps - 1, -1, -1):
        ended = terminated[t] | truncated[t]
        future = np.where(terminated[t], np.float32(0), np.where(truncated[t], final_values[t], values[t + 1]))
        delta = rewards[t] + np.float32(gamma) * future - values[t]
        carried = delta + np.where(ended, np.float32(0), np.float32(gamma * gae_lambda) * carried)
        advantages[t] = carried
    return advantages, advantages + values[:-1]
