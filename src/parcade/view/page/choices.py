"""What a policy was about to do, from the parameters it left in the block: chances for choices, a range for numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.pool.block import Block

Floats = npt.NDArray[np.float64]


def chances(about: Mapping[str, Any], block: Block, row: int, slot: int) -> dict[str, Any]:
    """Return the distribution of the step at ``row`` and what was drawn from it."""
    action = np.ravel(block.action["obs"][row, slot]).tolist() if "obs" in block.action else []
    return distribution(about, np.asarray(block.params[row, slot], np.float64), action)


def distribution(about: Mapping[str, Any], params: Floats, action: list[Any]) -> dict[str, Any]:
    """Return what parameters of an action space's distribution mean; without any, the action that was taken alone."""
    space = about.get("action_space") or {}
    kind, told = space.get("type"), {"taken": _places(space, action)}
    if not params.size or not np.isfinite(params).all():
        return told
    if kind == "Discrete":
        return {**told, "chances": [_rounded(softmax(params))]}
    if kind == "MultiDiscrete":
        counts = np.ravel(space["nvec"]).astype(int)
        parts = np.split(params, np.cumsum(counts)[:-1])
        return {**told, "chances": [_rounded(softmax(part)) for part in parts]}
    if kind == "MultiBinary":
        return {**told, "switches": _rounded(1 / (1 + np.exp(-params)))}
    if kind == "Box":
        return {**told, "ranges": _ranges(about, space, params)}
    return told


def _places(space: Mapping[str, Any], action: list[Any]) -> list[Any]:
    """Return choices counted from 0 on, as their chances are; other actions as they are."""
    if space.get("type") not in ("Discrete", "MultiDiscrete") or not action:
        return action
    starts = np.broadcast_to(np.ravel(np.array(space.get("start") or 0)), len(action))
    return [int(chosen) - int(start) for chosen, start in zip(action, starts, strict=True)]


def _ranges(about: Mapping[str, Any], space: Mapping[str, Any], params: Floats) -> list[dict[str, float]]:
    """Return mean, spread and limits of each axis."""
    first, second = np.split(params, 2)
    low, high = (np.ravel(np.array(space[side], np.float64)) for side in ("low", "high"))
    if about.get("box_policy") == "beta":
        alpha, beta = (about["beta_sharpness"] * np.logaddexp(0, part) + 1 for part in (first, second))
        both = alpha + beta
        mean, spread = alpha / both, np.sqrt(alpha * beta / (both * both * (both + 1)))
        mean, spread = low + mean * (high - low), spread * (high - low)
    else:
        mean, spread = first, np.exp(second)
    rows = zip(mean, spread, low, high, strict=True)
    return [
        {
            "mean": round(float(m), 4),
            "spread": round(float(s), 4),
            **({"low": float(a), "high": float(b)} if math.isfinite(a) and math.isfinite(b) else {}),
        }
        for m, s, a, b in rows
    ]


def softmax(logits: Floats) -> Floats:
    """Return chances that sum to 1."""
    raised = np.exp(logits - logits.max())
    found: Floats = raised / raised.sum()
    return found


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]
