"""Envs by their Gymnasium id: the modules that register them are imported, then Gymnasium makes them."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec as RegisteredEnv
from gymnasium.envs.registration import find_highest_version, get_env_id, load_env_creator, parse_env_id

from parcade.env.judged import own_arguments
from parcade.env.register import register_envs
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, did_you_mean
from parcade.game.titles import find_modules_here

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make_by_id(spec: EnvSpec) -> gym.Env[Any, Any]:
    """Return the env of ``spec.env_id``; whatever keeps Gymnasium from making it is told in one sentence."""
    shown = {"render_mode": "rgb_array"} if spec.render else {}
    kwargs = {**shown, **spec.env_kwargs, **own_arguments(spec)}
    registered = registered_env(spec)
    try:
        return gym.make(registered.id, **kwargs)
    except gym.error.DependencyNotInstalled as error:
        raise _missing_package(registered.id, str(error).splitlines()[0]) from None
    except ModuleNotFoundError as error:
        if error.name == "Box2D":  # our own CarRacing imports it by itself
            raise _missing_package(registered.id, "Box2D") from None
        raise
    except (gym.error.Error, TypeError, ValueError, AssertionError) as error:
        raise EnvError(f"{registered.id} cannot be made: {error}") from error
    except (LookupError, ArithmeticError, AttributeError, MemoryError) as error:
        raise EnvError(f"{registered.id} cannot be made: {type(error).__name__}: {error}") from error


def registered_env(spec: EnvSpec) -> RegisteredEnv:
    """Return what Gymnasium knows of ``spec.env_id``, after the modules of ``imports`` have registered theirs.

    An id ``module:Id`` imports its module, as everywhere in Gymnasium; one without a version means the newest.
    """
    env_id = spec.env_id or ""
    module, _, name = env_id.rpartition(":")
    for needed in (*spec.imports, *([module] if module else [])):
        _import(needed)
    register_envs()
    if name.startswith("ALE/"):
        _register_atari(name)
    try:
        namespace, title, version = parse_env_id(name)
        newest = find_highest_version(namespace, title) if version is None else None
        return gym.spec(name if newest is None else get_env_id(namespace, title, newest))
    except gym.error.Error as error:
        if not isinstance(error, gym.error.UnregisteredEnv):
            raise EnvError(f"env id {env_id!r} cannot be used: {error}") from None
        hint = did_you_mean(name, gym.registry)
        raise EnvError(
            f"env id {env_id!r} is not registered{hint}; name its package with --import if it is your own"
        ) from None


def declared_arguments(registered: RegisteredEnv) -> set[str]:
    """Return the arguments that a registered env names itself, in its signature or in its registration."""
    named = set(registered.kwargs)
    entry = registered.entry_point
    try:
        creator: Any = load_env_creator(entry) if isinstance(entry, str) else entry
        parameters = inspect.signature(creator).parameters.values()
    except (ImportError, AttributeError, TypeError, ValueError):  # told in words when the env is made
        return named
    return named | {parameter.name for parameter in parameters if parameter.kind in _NAMED}


def _import(module: str) -> None:
    find_modules_here()
    try:
        importlib.import_module(module)
    except Exception as error:  # a module of the user's own may raise anything while it is imported
        what = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
        raise EnvError(f"--import {module} failed: {what}{error}") from None


def _missing_package(env_id: str, told: str) -> MissingExtraError:
    if "box2d" in told.lower():
        return MissingExtraError(f"{env_id} needs Box2D; pip install 'parcade[racing]'")
    return MissingExtraError(f"{env_id} needs a package that is not installed: {told}")


def _register_atari(env_id: str) -> None:
    try:
        import ale_py
    except ImportError:
        raise MissingExtraError(f"{env_id} needs ale-py; pip install 'parcade[atari]'") from None
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # else every env greets on stderr
    gym.register_envs(ale_py)
