"""Other libraries' ways to run many envs, over the very same env."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from parcade.env.make import make
from parcade.env.slot import SlotEnv, as_slot_env, leaves, read_leaves
from parcade.env.spec import EnvSpec

MULTIPROCESS = ("sb3-subproc", "gymnasium-async")
N_READY_ACTIONS = 512


class LeanEnv(gym.Env[Any, Any]):
    """Our env with an empty ``info``, so that peers pay for nothing but the step and the observation.

    At the end of an episode ``info["is_success"]`` tells what the game says, where it says anything.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    spec = None

    def __init__(self, spec: EnvSpec) -> None:
        self._env: SlotEnv = as_slot_env(make(spec))
        self.observation_space, self.action_space = self._env.observation_space, self._env.action_space
        self._leaves = leaves(self.observation_space)
        names = self._env.metric_names
        self._success = names.index("success") if "success" in names else None
        self._seeds = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the episode of ``seed``, or of the next seed of this env's own sequence."""
        super().reset(seed=seed)
        if seed is not None:
            self._seeds = np.random.default_rng([seed])
        rows = self._rows()
        self._env.begin(int(self._seeds.integers(1 << 31)), rows)
        return read_leaves(self._env.observation_space, rows), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step into fresh arrays, as Gymnasium's contract asks."""
        rows = self._rows()
        reward, terminated, truncated = self._env.advance(action, rows)
        info: dict[str, Any] = {}
        if (terminated or truncated) and self._success is not None:
            info["is_success"] = bool(self._env.episode_metrics()[self._success])
        return read_leaves(self._env.observation_space, rows), reward, terminated, truncated, info

    def _rows(self) -> dict[str, Any]:
        return {name: np.empty(shape, dtype) for name, (shape, dtype) in self._leaves.items()}

    def close(self) -> None:
        """Close the env."""
        self._env.close()


class EnvFactory:
    """A picklable maker of lean envs."""

    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec

    def __call__(self) -> LeanEnv:
        """Return a new env."""
        return LeanEnv(self._spec)


class PeerContender:
    """A peer's vector env, stepped with random actions that were drawn before."""

    def __init__(self, vector_env: Any, n_envs: int, n_actions: int) -> None:
        self._env, self._n_envs, self._next = vector_env, n_envs, 0
        self._actions = np.random.default_rng([1]).integers(n_actions, size=(N_READY_ACTIONS, n_envs))
        vector_env.reset()

    def turn(self, seconds: float) -> float:
        """Step for ``seconds``; return env steps per second."""
        step, actions, n = self._env.step, self._actions, 0
        started = time.perf_counter()
        while True:
            step(actions[self._next % N_READY_ACTIONS])
            self._next += 1
            n += self._n_envs
            elapsed = time.perf_counter() - started
            if elapsed >= seconds:
                return n / elapsed

    def close(self) -> None:
        """Close the vector env."""
        if self._env is not None:
            self._env.close()
            self._env = None


def sb3_dummy(spec: EnvSpec, n_envs: int) -> Any:
    """SB3's DummyVecEnv: all envs in one process."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([EnvFactory(spec)] * n_envs)


def sb3_subproc(spec: EnvSpec, n_envs: int) -> Any:
    """SB3's SubprocVecEnv: a process per env, pickles over pipes."""
    from stable_baselines3.common.vec_env import SubprocVecEnv

    return SubprocVecEnv([EnvFactory(spec)] * n_envs)


def gymnasium_sync(spec: EnvSpec, n_envs: int) -> Any:
    """Gymnasium's SyncVectorEnv: all envs in one process."""
    return gym.vector.SyncVectorEnv([EnvFactory(spec)] * n_envs)


def gymnasium_async(spec: EnvSpec, n_envs: int) -> Any:
    """Gymnasium's AsyncVectorEnv: a process per env, observations in shared memory."""
    return gym.vector.AsyncVectorEnv([EnvFactory(spec)] * n_envs, shared_memory=True)


_MAKERS: dict[str, tuple[str, Callable[[EnvSpec, int], Any]]] = {
    "sb3-dummy": ("stable_baselines3", sb3_dummy),
    "sb3-subproc": ("stable_baselines3", sb3_subproc),
    "gymnasium-sync": ("gymnasium", gymnasium_sync),
    "gymnasium-async": ("gymnasium", gymnasium_async),
}


def installed_peers() -> tuple[list[str], list[str]]:
    """Return the peers that can be measured here, and those whose package is missing."""
    there = [name for name, (package, _) in _MAKERS.items() if importlib.util.find_spec(package)]
    return there, [name for name in _MAKERS if name not in there]


def open_peer(name: str, spec: EnvSpec, n_envs: int) -> PeerContender:
    """Start a peer with ``n_envs`` envs."""
    vector_env = _MAKERS[name][1](spec, n_envs)
    space = getattr(vector_env, "single_action_space", vector_env.action_space)
    return PeerContender(vector_env, n_envs, int(space.n))
