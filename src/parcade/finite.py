"""Whether a policy still is one: weights, and answers to what it saw last, that are numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from parcade.learn.policy import Policy
from parcade.learn.rollout import Rollout

_ROWS = 4  # observations asked about: weights this large fail on any


def what_is_no_number(policy: Policy, rollout: Rollout) -> str | None:
    """Return what of a policy is no number after an update, for a message; None where all is well.

    Weights may be numbers and yet so large that every answer overflows; such a policy can neither play nor learn.
    """
    if not all(_is_finite(weight) for weight in policy.state_dict().values()):
        return "the weights"
    return None if _answers(policy, rollout) else "the policy's answers"


@torch.inference_mode()
def _answers(policy: Policy, rollout: Rollout) -> bool:
    device = next(policy.parameters()).device
    seen = {name: tensor[-1, :_ROWS].to(device) for name, tensor in rollout.obs_tensors.items()}
    policy.prepare()
    params, values, _ = policy.step(seen, policy.initial_state(min(_ROWS, rollout.n_envs)).to(device))
    if not _is_finite(params) or values is None or not _is_finite(values):
        return False
    noise = torch.Generator().manual_seed(0)  # its own: the run's must not move
    return _is_finite(policy.distribution.sample(params.cpu(), noise))


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
