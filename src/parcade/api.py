"""Envs and pools by name, for Python users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from parcade.env.factory import pickle_factory
from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError, did_you_mean
from parcade.game.titles import title_names
from parcade.pool.opening import POOL_OPTIONS, open_pool
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool

if TYPE_CHECKING:
    from parcade.train.loaded_policy import LoadedPolicy

EnvLike = str | EnvSpec | Callable[[], gym.Env[Any, Any]]


def as_spec(env: EnvLike, **options: Any) -> EnvSpec:
    """Return the spec of a title's name, a Gymnasium id, a spec, or a factory that makes an env."""
    for name in options:
        if name not in EnvSpec.__dataclass_fields__:
            hint = did_you_mean(name, [*EnvSpec.__dataclass_fields__, *POOL_OPTIONS])
            raise SettingsError(f"an env has no option {name!r}{hint}")
    if isinstance(env, EnvSpec):
        return env.with_(**options) if options else env
    if isinstance(env, str):
        if env in title_names() or ":" in env:
            return EnvSpec(game=env, **options)
        return EnvSpec(env_id=env, **options)
    return EnvSpec(factory=pickle_factory(env), **options)


def make_env(env: EnvLike, **options: Any) -> gym.Env[Any, Any]:
    """Return one env: a title's name, a Gymnasium id, a spec or a factory; ``options`` are fields of EnvSpec.

    ``make_env("lantern", observation="pixels", frames_stack=4)``
    """
    return make(as_spec(env, **options))


def load_policy(path: str | Path, *, seed: int = 0) -> LoadedPolicy:
    """Return the policy of a model file, to play with in a program of your own; ``seed`` decides what is drawn.

    ``policy.act(observation, deterministic=False)`` returns an action; call ``policy.reset()`` where an episode begins.
    """
    from parcade.train.loaded_policy import LoadedPolicy

    return LoadedPolicy(path, seed)


def make_pool(env: EnvLike, n_envs: int, **options: Any) -> ProcessPool | SerialPool:
    """Return a pool of ``n_envs`` envs in ``n_workers`` processes (0: all in this one); close it with ``with``.

    ``options`` are those of ``open_pool`` and fields of EnvSpec.
    """
    for_pool = {name: options.pop(name) for name in POOL_OPTIONS & options.keys()}
    return open_pool(as_spec(env, **options), n_envs, **for_pool)
