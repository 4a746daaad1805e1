"""A policy that plays: one action at a time, with its memory, without learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import torch

from parcade.learn.policy import Policy
from parcade.learn.rollout import tensor_dtype


class Actor:
    """Chooses actions for one env; ``begin`` is called at each episode's start."""

    def __init__(self, policy: Policy, *, deterministic: bool = False, seed: int = 0) -> None:
        self._policy, self._deterministic = policy, deterministic
        self._noise = torch.Generator().manual_seed(seed)
        self._device = next(policy.parameters()).device
        policy.prepare()
        self.begin()

    def begin(self) -> None:
        """Forget the episode before."""
        self._state = self._policy.initial_state(1).to(self._device)

    @torch.inference_mode()
    def __call__(self, rows: Mapping[str, npt.NDArray[Any]]) -> Any:
        """Return the action for one observation, given by leaf name, as the env takes it."""
        arrays = {name: row[None].astype(tensor_dtype(row.dtype)) for name, row in rows.items()}
        observation = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        params, _, self._state = self._policy.step(observation, self._state, with_values=False)
        distribution, params = self._policy.distribution, params.cpu()
        actions = distribution.mode(params) if self._deterministic else distribution.sample(params, self._noise)
        return distribution.to_env(actions)[0]
