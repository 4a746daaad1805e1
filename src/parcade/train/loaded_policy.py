"""A trained policy for programs of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

import gymnasium as gym
import numpy as np

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.slot import observation_rows
from parcade.errors import SettingsError
from parcade.learn.sampling import Array
from parcade.learn.single_actor import PolicyState, SingleActor
from parcade.train.policy_file import load_policy
from parcade.train.python_env import PythonEnv, named_env


class LoadedPolicy:
    """The policy of a model file, which plays one env step by step.

    Call ``reset`` where an episode begins: it clears the memory of a policy that has one. Or keep the state yourself:
    ``state = policy.begin()`` and ``action, state = policy.act(observation, state)``.
    """

    def __init__(self, path: str | Path, seed: int = 0) -> None:
        self._policy, self._foreign = load_policy(path)
        self._path, self._actor = path, SingleActor(self._policy, seed=seed)
        self.action_space = self._policy.action_space

    def reset(self, seed: int = 0) -> None:
        """Begin an episode; with the same ``seed`` and observations the same actions are drawn."""
        self._actor.begin(seed)

    def begin(self, seed: int = 0) -> PolicyState:
        """Return the state at the start of an episode, for ``act(observation, state)``."""
        return self._actor.first_state(seed)

    @overload
    def act(self, observation: Any, state: None = None, *, deterministic: bool = False) -> Any: ...

    @overload
    def act(self, observation: Any, state: PolicyState, *, deterministic: bool = False) -> tuple[Any, PolicyState]: ...

    def act(self, observation: Any, state: PolicyState | None = None, *, deterministic: bool = False) -> Any:
        """Return the action for an observation of the env the policy was trained in, as that env takes it.

        With a ``state`` the answer is the action and the state after it, and the policy keeps nothing: one policy can
        play many envs. ``deterministic`` gives the likeliest action instead of a drawn one.
        """
        rows = self._rows(observation)
        if state is None:
            return self._actor(rows, deterministic)
        if not isinstance(state, PolicyState):
            raise SettingsError(f"the state is a {type(state).__name__}, wanted what policy.begin() or act returned")
        return self._actor.act(rows, state, deterministic)

    def _rows(self, observation: Any) -> dict[str, Array]:
        rows = observation_rows(observation)
        wanted = {name: leaf.shape for name, leaf in self._policy.leaves.items()}
        found = {name: np.shape(row) for name, row in rows.items()}
        if found != wanted:
            raise SettingsError(f"the observation has {found}, but the policy of {self._path} observes {wanted}")
        return rows

    def make_env(self, env: PythonEnv | None = None, **named: Any) -> gym.Env[Any, Any]:
        """Return an env as the policy knows it: preprocessed as in training, with whole rewards.

        A ROM, a save state, a module or a function that the file alone cannot give is named as for ``evaluate``.
        """
        said, factory = named_env(env)
        said.pop("env_factory", None)
        return make(evaluated_as(self._foreign.accepted({**said, **named, "factory": factory})))
