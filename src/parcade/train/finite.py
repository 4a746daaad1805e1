"""Whether a policy still is one: weights, and answers to what it saw last, that are numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor
from parcade.pool.block import Block

_ROWS = 4  # observations asked about: weights this large fail on any


def what_is_no_number(policy: Policy, block: Block) -> str | None:
    """Return what of a policy is no number after an update, for a message; None where all is well.

    Weights may be numbers and yet so large that every answer overflows; such a policy can neither play nor learn.
    """
    if not all(_is_finite(weight) for weight in policy.state_dict().values()):
        return "the weights"
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
