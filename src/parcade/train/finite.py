"""Whether a policy still is one: weights, and answers to what it saw last, that are numbers; and if not, since when."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from parcade.errors import DivergedError
from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor
from parcade.pool.actor import Array
from parcade.pool.block import Block

_ROWS = 4  # observations asked about: weights this large fail on any


def check_numbers(
    policy: Policy, block: Block, losses: Mapping[str, float], env_steps: int, learning_rate: float
) -> None:
    """Raise DivergedError for a policy that can only get worse after the update that ``env_steps`` precede."""
    sound = all(math.isfinite(value) for value in losses.values())
    what = what_is_no_number(policy, block) if sound else "the losses"
    if what is not None:
        where = where_no_number(block, env_steps)
        why = where or f"learning_rate {learning_rate:g} is too high, or the env's numbers are too large"
        raise DivergedError(f"{what} after step {env_steps:,} are no numbers: {why}; what was saved before stays")


def what_is_no_number(policy: Policy, block: Block) -> str | None:
    """Return what of a policy is no number after an update, for a message; None where all is well.

    Weights may be numbers and yet so large that every answer overflows; such a policy can neither play nor learn.
    """
    if not all(_is_finite(weight) for weight in policy.state_dict().values()):
        return "the weights"
    if not block.obs:  # its observations stayed with the learners, who have looked
        return None
    return None if _answers(policy, block) else "the policy's answers"


@torch.inference_mode()
def _answers(policy: Policy, block: Block) -> bool:
    rows = min(_ROWS, block.n_envs)
    seen = {name: as_tensor(array[-1, :rows]).to(policy.device) for name, array in block.obs.items()}
    params, values, _ = policy.step(seen, policy.initial_state(rows).to(policy.device))
    spread = policy.log_std.exp() if policy.log_std is not None else values
    return _is_finite(params) and _is_finite(values) and _is_finite(spread)


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def where_no_number(block: Block, env_steps: int) -> str | None:
    """Return where an env first gave NaN or infinity in a rollout that began after ``env_steps``; None if it did not.

    It names slot, key and step: of the episode, if the rollout holds its beginning or its end, and of the training.
    """
    found = []
    for name, array in block.obs.items():
        is_bad = _bad(array)
        found += [(row - 1, slot, f"the observation {name!r}") for row, slot in _first(is_bad)]
    with np.errstate(over="ignore"):
        rewards = block.reward.astype(np.float32)  # as they are learned from
    found += [(t, slot, "the reward") for t, slot in _first(_bad(rewards))]
    if not found:
        return None
    t, slot, what = min(found)
    own = _episode_step(block, t, slot)
    step = f"step {env_steps + max(0, t + 1) * block.n_envs:,} of the training"
    kind = "beyond 32 bits" if what == "the reward" and np.isfinite(block.reward[t, slot]) else "no number"
    return f"{what} of slot {slot} is {kind} at {step if own is None else f'step {own} of its episode, {step}'}"


def _bad(array: Array) -> Array:
    """(T, N): where an array (T, N, ...) holds something else than numbers."""
    if array.dtype.kind != "f":
        return np.zeros(array.shape[:2], np.bool_)
    return np.asarray(~np.isfinite(array).reshape(*array.shape[:2], -1).all(axis=2))


def _first(bad: Array) -> list[tuple[int, int]]:
    rows, slots = np.nonzero(bad)
    return [(int(rows[0]), int(slots[0]))] if len(rows) else []


def _episode_step(block: Block, t: int, slot: int) -> int | None:
    """Return which step of its episode a slot took in row ``t``; 0 is the reset, None is not known."""
    ends = np.flatnonzero(block.ended[:, slot])
    after, before = ends[ends >= t], ends[ends < t]
    if t < 0:
        return None
    if len(before):
        return int(t - before[-1])
    return int(block.episode_length[after[0], slot] - (after[0] - t)) if len(after) else None
