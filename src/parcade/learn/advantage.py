"""Generalised advantage estimation; an ended episode and a cut one are not the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatTN = npt.NDArray[np.float32]
BoolTN = npt.NDArray[np.bool_]


@np.errstate(over="ignore", invalid="ignore")  # told as losses that are no numbers
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
    future = np.where(truncated, final_values, values[1:])
    deltas = rewards + np.float32(gamma) * np.where(terminated, np.float32(0), future) - values[:-1]
    decay = np.where(terminated | truncated, np.float32(0), np.float32(gamma * gae_lambda))
    advantages: FloatTN = np.empty_like(rewards)
    carried = np.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        carried = deltas[t] + decay[t] * carried
        advantages[t] = carried
    return advantages, advantages + values[:-1]
