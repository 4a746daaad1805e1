"""Which actor a policy becomes, and the weights it wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from parcade.learn.advantage import FloatTN
from parcade.learn.encoders import ChoiceEncoder, VectorEncoder
from parcade.learn.flat import flat_size, pack
from parcade.learn.normalise import LIMIT, RunningMoments
from parcade.learn.policy import Policy
from parcade.learn.torch_actor import TorchActor
from parcade.learn.vector_actor import VectorActor
from parcade.pool.actor import Actor


class PolicyPlays:
    """What all algorithms have in common whose policy plays as it is."""

    can_be_given_up = True

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.while_learning: Callable[[float], None] = lambda share: None
        self.values: FloatTN | None = None

    def actor(self) -> Actor:
        """Return the policy as workers run it."""
        return actor_for(self.policy)

    def weights(self) -> npt.NDArray[np.float32]:
        """Return the weights the actor plays with."""
        return actor_weights(self.policy)


def worker_modules(policy: Policy | None = None, *, needs_torch: bool = False) -> tuple[str, ...]:
    """Return what a fork server imports once for all workers: torch, where the policy's actor needs it there.

    ``needs_torch`` says it where there is no policy yet.
    """
    return (TorchActor.__module__,) if needs_torch or (policy is not None and not policy.values_apart) else ()


def actor_for(policy: Policy, *, deterministic: bool = False) -> VectorActor | TorchActor:
    """Return the policy as workers run it: in NumPy where it sees vectors and has no memory, else as it is."""
    if not policy.values_apart:
        return TorchActor(policy.leaves, policy.action_space, policy.net, policy.in_bfloat16, deterministic)
    return VectorActor(
        leaves=policy.seen,
        choices=tuple(part.choices if isinstance(part, ChoiceEncoder) else () for part in policy.parts),
        sizes=policy.actor.sizes,
        activation=policy.net.activation,
        action_space=policy.action_space,
        box=policy.net.box,
        normalised=_is_normalised(policy),
        limit=LIMIT,
        n_free=policy.distribution.n_free,
        mask=policy.mask_leaf,
        deterministic=deterministic,
    )


@torch.no_grad()
def actor_weights(policy: Policy) -> npt.NDArray[np.float32]:
    """Return the numbers that ``actor_for(policy)`` wants, as they are now."""
    if not policy.values_apart:
        flat = torch.zeros(flat_size(policy.state_dict().values()))
        pack(policy, flat)
        return flat.numpy()
    numbers: list[Any] = list(policy.actor.parameters())
    if policy.log_std is not None:
        numbers.append(policy.log_std)
    if _is_normalised(policy):
        moments = [getattr(part, "moments", None) or RunningMoments(part.size) for part in policy.parts]  # type: ignore[arg-type]
        numbers = [*(m.mean for m in moments), *(m.factor for m in moments), *numbers]
    return torch.cat([number.flatten().cpu() for number in numbers]).numpy()


def _is_normalised(policy: Policy) -> bool:
    return any(isinstance(part, VectorEncoder) and part.moments is not None for part in policy.parts)
