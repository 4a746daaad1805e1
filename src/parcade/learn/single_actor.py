"""A policy that plays one env, step by step, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcade.learn.policy import Policy
from parcade.learn.sampling import Array, sampler_for
from parcade.learn.torch_actor import acting
from parcade.pool.actor import ActorRows, Choose


@dataclass(frozen=True, slots=True, eq=False)
class PolicyState:
    """Where a policy stands in an episode: what it remembers, and which noise it draws with next."""

    memory: Array  # (1, size); a policy without memory has size 0
    episode_seed: int
    step: int


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
        self.begin()

    def first_state(self, episode_seed: int = 0) -> PolicyState:
        """Return the state at the start of an episode."""
        return PolicyState(np.zeros((1, self._policy.state_size), np.float32), episode_seed, 0)

    def begin(self, episode_seed: int = 0) -> None:
        """Forget the episode before."""
        self._state = self.first_state(episode_seed)

    def __call__(self, rows: Mapping[str, Array], deterministic: bool | None = None) -> Any:
        """Return the action for one observation, given by leaf name, as the env takes it."""
        action, self._state = self.act(rows, self._state, deterministic)
        return action

    def act(
        self, rows: Mapping[str, Array], state: PolicyState, deterministic: bool | None = None
    ) -> tuple[Any, PolicyState]:
        """Return the action and the state after it; nothing is kept here."""
        likeliest = self._deterministic if deterministic is None else deterministic
        if likeliest not in self._choosers:
            self._choosers[likeliest] = acting(self._policy, self._draw, range(1), likeliest)
        after, value = np.zeros_like(state.memory), np.zeros(1, np.float32)
        seen = {name: np.asarray(row)[None] for name, row in rows.items()}
        seed, step = np.array([state.episode_seed]), np.array([state.step])
        action = self._choosers[likeliest](
            ActorRows(0, seen, seed, step, state.memory, after, self._params, value, self._drawn)
        )
        chosen = action[0].item() if action.ndim == 1 else action[0]
        return chosen, PolicyState(after, state.episode_seed, state.step + 1)
