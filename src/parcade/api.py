"""Envs and pools by name, for Python users."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError
from parcade.game.titles import title_names
from parcade.pool.opening import POOL_OPTIONS, open_pool
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool

EnvLike = str | EnvSpec | Callable[[], gym.Env[Any, Any]]


def as_spec(env: EnvLike, **options: Any) -> EnvSpec:
    """Return the spec of a title's name, a Gymnasium id, a spec, or a factory that makes an env."""
    if isinstance(env, EnvSpec):
        return env.with_(**options) if options else env
    if isinstance(env, str):
        if env in title_names() or ":" in env:
            return EnvSpec(game=env, **options)
        return EnvSpec(env_id=env, **options)
    return EnvSpec(factory=pickle_factory(env), **options)


def pickle_factory(factory: Callable[[], Any]) -> bytes:
    """Return the factory as bytes that worker processes can load."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(factory)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        name = getattr(factory, "__qualname__", repr(factory))
        held = ", ".join(_unpicklable(factory)) or "something it refers to"
        raise EnvError(
            f"the env factory {name} cannot be sent to workers because of {held} ({error}); "
            "create such objects inside the factory instead of outside it"
        ) from None
    return data


def _unpicklable(factory: Callable[[], Any]) -> list[str]:
    """Return the names the factory closes over that cannot be pickled."""
    import cloudpickle

    names = getattr(getattr(factory, "__code__", None), "co_freevars", ())
    cells = getattr(factory, "__closure__", None) or ()
    held = {name: cell.cell_contents for name, cell in zip(names, cells, strict=False)}
    used = getattr(getattr(factory, "__code__", None), "co_names", ())
    held |= {name: factory.__globals__[name] for name in used if name in getattr(factory, "__globals__", {})}
    found = []
    for name, value in held.items():
        try:
            cloudpickle.dumps(value)
        except Exception:
            found.append(f"{name!r} ({type(value).__name__})")
    return found


def make_env(env: EnvLike, **options: Any) -> gym.Env[Any, Any]:
    """Return one env: a title's name, a Gymnasium id, a spec or a factory; ``options`` are fields of EnvSpec.

    ``make_env("lantern", observation="pixels", frames_stack=4)``
    """
    return make(as_spec(env, **options))


def make_pool(env: EnvLike, n_envs: int, **options: Any) -> ProcessPool | SerialPool:
    """Return a pool of ``n_envs`` envs in ``n_workers`` processes (0: all in this one); close it with ``with``.

    ``options`` are those of ``open_pool`` and fields of EnvSpec.
    """
    for_pool = {name: options.pop(name) for name in POOL_OPTIONS & options.keys()}
    return open_pool(as_spec(env, **options), n_envs, **for_pool)
