"""Arrays (T, N, ...) under one policy, allocated once and filled again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]
_WIDER: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.uint16): np.dtype(np.int32),
    np.dtype(np.uint32): np.dtype(np.int64),
}


def tensor_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype itself, or the next wider one where torch cannot index it."""
    return _WIDER.get(dtype, dtype)


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode that ended during a rollout."""

    slot: int
    step: int  # row of the rollout it ended in
    total_reward: float
    length: int
    terminated: bool
    metrics: Mapping[str, float]


class Rollout:
    """Storage for T steps of N slots; observations keep their dtype until the forward pass."""

    def __init__(
        self,
        n_steps: int,
        n_envs: int,
        leaves: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
        action_shape: tuple[int, ...],
        action_dtype: torch.dtype,
        pinned: bool = False,
    ) -> None:
        self.n_steps, self.n_envs = n_steps, n_envs
        self.obs: dict[str, Array] = {
            name: np.zeros((n_steps + 1, n_envs, *shape), dtype=tensor_dtype(dtype))
            for name, (shape, dtype) in leaves.items()
        }
        if pinned:  # memory that never moves: a graphics card fetches it by itself while the CPU goes on
            self.obs = {name: torch.from_numpy(array).pin_memory().numpy() for name, array in self.obs.items()}
        self.obs_tensors: dict[str, Tensor] = {name: torch.from_numpy(array) for name, array in self.obs.items()}
        self.actions = torch.zeros((n_steps, n_envs, *action_shape), dtype=action_dtype)
        self.log_probs = torch.zeros((n_steps, n_envs))
        self.values = np.zeros((n_steps + 1, n_envs), np.float32)
        self.rewards = np.zeros((n_steps, n_envs), np.float32)
        self.terminated = np.zeros((n_steps, n_envs), np.bool_)
        self.truncated = np.zeros((n_steps, n_envs), np.bool_)
        self.final_values = np.zeros((n_steps, n_envs), np.float32)
        self.states = torch.zeros((n_envs, 0))  # the policy's memory before step 0; sized by who collects
        self.advantages = torch.zeros((n_steps, n_envs))
        self.returns = torch.zeros((n_steps, n_envs))
        self.episodes: list[Episode] = []
        self.env_s = 0.0
        self.inference_s = 0.0

    @property
    def env_steps(self) -> int:
        """Steps this rollout holds, summed over slots."""
        return self.n_steps * self.n_envs

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """(T, N): where an episode ended with this step, either way."""
        return self.terminated | self.truncated

    def starts(self) -> Tensor:
        """(T, N): where an episode begins after step 0; the memory before step 0 stands in ``states``."""
        starts = np.zeros((self.n_steps, self.n_envs), np.bool_)
        starts[1:] = self.ended[:-1]
        return torch.from_numpy(starts)

    def flat(self) -> dict[str, Tensor]:
        """Return the observations as (T * N, ...) without copying."""
        return {name: tensor[:-1].flatten(0, 1) for name, tensor in self.obs_tensors.items()}
