"""A trained policy for programs of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.slot import WHOLE
from parcade.errors import SettingsError
from parcade.learn.single_actor import SingleActor
from parcade.train.evaluation import load_policy
from parcade.train.python_env import PythonEnv, named_env


class LoadedPolicy:
    """The policy of a model file, which plays one env step by step.

    Call ``reset`` where an episode begins: it clears the memory of a policy that has one.
    """

    def __init__(self, path: str | Path, seed: int = 0) -> None:
        self._policy, self._foreign = load_policy(path)
        self._path, self._actor = path, SingleActor(self._policy, seed=seed)
        self.action_space = self._policy.action_space

    def reset(self, seed: int = 0) -> None:
        """Begin an episode; with the same ``seed`` and observations the same actions are drawn."""
        self._actor.begin(seed)

    def act(self, observation: Any, deterministic: bool = False) -> Any:
        """Return the action for an observation of the env the policy was trained in, as that env takes it.

        ``deterministic`` gives the likeliest action instead of a drawn one.
        """
        rows: dict[str, Any] = {}
        _collect("", observation, rows)
        wanted = {name: leaf.shape for name, leaf in self._policy.leaves.items()}
        found = {name: np.shape(row) for name, row in rows.items()}
        if found != wanted:
            raise SettingsError(f"the observation has {found}, but the policy of {self._path} observes {wanted}")
        return self._actor(rows, deterministic)

    def make_env(self, env: PythonEnv | None = None, **named: Any) -> gym.Env[Any, Any]:
        """Return an env as the policy knows it: preprocessed as in training, with whole rewards.

        A ROM, a save state, a module or a function that the file alone cannot give is named as for ``evaluate``.
        """
        said, factory = named_env(env)
        said.pop("env_factory", None)
        return make(evaluated_as(self._foreign.accepted({**said, **named, "factory": factory})))


def _collect(path: str, observation: Any, rows: dict[str, Any]) -> None:
    """Write the arrays of an observation into ``rows`` by leaf name."""
    if isinstance(observation, Mapping | tuple):
        parts = observation.items() if isinstance(observation, Mapping) else enumerate(observation)
        for key, part in parts:
            _collect(f"{path}/{key}" if path else str(key), part, rows)
    else:
        rows[path or WHOLE] = np.asarray(observation)
