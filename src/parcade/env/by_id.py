"""Envs by their Gymnasium id: the modules that register them are imported, then Gymnasium makes them."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import gymnasium as gym
from gymnasium.envs.registration import EnvSpec as RegisteredEnv
from gymnasium.envs.registration import find_highest_version, get_env_id, load_env_creator, parse_env_id

from parcade.env.atari import AtariFrames, check_atari_fields, frame_arguments
from parcade.env.judged import own_arguments
from parcade.env.register import register_envs
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, StartsWhenImportedError, did_you_mean
from parcade.game.titles import find_modules_here
from parcade.host.own_modules import import_own, importing

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make_by_id(spec: EnvSpec) -> gym.Env[Any, Any]:
    """Return the env of ``spec.env_id``; whatever keeps Gymnasium from making it is told in one sentence."""
    registered = registered_env(spec)
    shown = {"render_mode": "rgb_array"} if spec.render and _can_draw(registered) else {}
    if shown and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # SDL would complain that it finds no screen
    # Gymnasium's own check complains in warnings of its own; ``parcade.env.check`` says the same and more.
    kwargs = {"disable_env_checker": True, **shown, **spec.env_kwargs, **own_arguments(spec)}
    frames = frame_arguments(registered, kwargs, spec)
    check_atari_fields(spec, frames is not None)
    try:
        if isinstance(registered.entry_point, str):  # its module is imported here, if it was not yet
            with importing(registered.entry_point.partition(":")[0]):
                load_env_creator(registered.entry_point)
        env = gym.make(registered.id if registered.id in gym.registry else registered, **(frames or kwargs))
        if frames is None:
            return env
        own = {**registered.kwargs, **kwargs}
        return AtariFrames(env, own.get("frameskip", 1), own.get("repeat_action_probability", 0.0))
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

    An id ``module:Id`` imports its module, as everywhere in Gymnasium; one without a version means the newest. Where
    the module registers no such id, ``module:Class`` is a class of its own.
    """
    env_id = spec.env_id or ""
    module, _, name = env_id.rpartition(":")
    for needed in (*spec.imports, *([module] if module else [])):
        _import(needed)
    register_envs()
    if name.startswith("ALE/"):
        _register_atari(name)  # first: ale-py registers all of its games, and Gymnasium warns of an id that is there
    if spec.registered is not None:
        sent = cloudpickle.loads(spec.registered)
        gym.registry.setdefault(sent.id, sent)
    try:
        namespace, title, version = parse_env_id(name)
        newest = find_highest_version(namespace, title) if version is None else None
        return gym.spec(name if newest is None else get_env_id(namespace, title, newest))
    except gym.error.Error as error:
        if (own := _class_of(module, name)) is not None:
            return RegisteredEnv(id=name, entry_point=own)
        if module:
            raise EnvError(_why_no_class(module, name)) from None
        if not isinstance(error, gym.error.UnregisteredEnv):
            raise EnvError(f"env id {env_id!r} cannot be used: {error}") from None
        hint = did_you_mean(name, gym.registry)
        raise EnvError(
            f"env id {env_id!r} is not registered{hint}; name its package with --import if it is your own"
        ) from None


def _can_draw(registered: RegisteredEnv) -> bool:
    """Whether the env says that it can draw for a program; Gymnasium would only warn, in words of its own."""
    entry = registered.entry_point
    try:
        creator: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    except (ImportError, AttributeError):  # told in words when the env is made
        return True
    metadata = getattr(creator, "metadata", None)
    return not isinstance(metadata, dict) or "rgb_array" in metadata.get("render_modes", ())


def own_frame_skip(spec: EnvSpec) -> int:
    """Return how many frames one step of the bare env takes, as far as its registration tells; 1 if it does not."""
    if spec.env_id is None:
        return 1
    named = {**registered_env(spec).kwargs, **spec.env_kwargs}
    found = named.get("frameskip", named.get("frame_skip", 1))
    return found if isinstance(found, int) else 1


def with_registration(spec: EnvSpec) -> EnvSpec:
    """Return the spec with what this process knows of its id: workers never run the script that registered it."""
    if spec.env_id is None or ":" in spec.env_id or spec.registered is not None:
        return spec
    try:
        namespace, title, version = parse_env_id(spec.env_id)
    except gym.error.Error:  # told in words when the env is made
        return spec
    newest = find_highest_version(namespace, title) if version is None else version
    found = gym.registry.get(get_env_id(namespace, title, newest))
    entry = found.entry_point if found is not None else None
    if found is None or (isinstance(entry, str) and entry.partition(".")[0] in ("gymnasium", "parcade")):
        return spec
    try:
        return spec.with_(registered=bytes(cloudpickle.dumps(found)))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise EnvError(
            f"the registration of {found.id!r} cannot be sent to workers ({error}); "
            "name the module that registers it with --import"
        ) from None


def _class_of(module: str, name: str) -> Callable[..., gym.Env[Any, Any]] | None:
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, gym.Env) else None


def _why_no_class(module: str, name: str) -> str:
    """Return why ``module:name`` is no env, after the module was imported."""
    found = getattr(sys.modules[module], name, None)
    if found is not None:
        kind = "a class" if isinstance(found, type) else f"a {type(found).__name__}"
        return f"{module}:{name} is {kind}, wanted a subclass of gymnasium.Env"
    held = vars(sys.modules[module]).items()
    envs = [own for own, value in held if isinstance(value, type) and issubclass(value, gym.Env)]
    hint = did_you_mean(name, [*envs, *gym.registry])
    return f"the module {module} has no {name}{hint} and registers no such id"


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
        import_own(module)
    except StartsWhenImportedError:
        raise
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
