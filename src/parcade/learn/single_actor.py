"""A policy that plays one env, step by step, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parcade.learn.policy import Policy
from parcade.learn.sampling import Array, sampler_for
from parcade.learn.torch_actor import acting
from parcade.pool.actor import ActorRows, Choose


class SingleActor:
    """Chooses actions for one env; ``begin`` is called at each episode's start.

    The same seed, episode seed and observations give the same actions.
    """

    def __init__(self, policy: Policy, *, deterministic: bool = False, seed: int = 0) -> None:
        self._policy, self._draw, self._deterministic = policy, seed, deterministic
        self._choosers: dict[bool, Choose] = {}
        self._params = np.zeros((1, policy.n_params), np.float32)
        sampler = sampler_for(policy.action_space, policy.net.box)
        self._drawn = np.zeros((1, *sampler.drawn_shape), sampler.drawn_dtype)
        self._size = policy.state_size
        self.begin()

    def begin(self, episode_seed: int = 0) -> None:
        """Forget the episode before."""
        self._memory, self._seed, self._step = np.zeros((1, self._size), np.float32), np.array([episode_seed]), 0

    def __call__(self, rows: Mapping[str, Array], deterministic: bool | None = None) -> Any:
        """Return the action for one observation, given by leaf name, as the env takes it."""
        likeliest = self._deterministic if deterministic is None else deterministic
        if likeliest not in self._choosers:
            self._choosers[likeliest] = acting(self._policy, self._draw, range(1), likeliest)
        after, value = np.zeros_like(self._memory), np.zeros(1, np.float32)
        seen = {name: np.asarray(row)[None] for name, row in rows.items()}
        step = np.array([self._step])
        action = self._choosers[likeliest](
            ActorRows(0, seen, self._seed, step, self._memory, after, self._params, value, self._drawn)
        )
        self._memory, self._step = after, self._step + 1
        return action[0].item() if action.ndim == 1 else action[0]
