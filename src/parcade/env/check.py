"""What is wrong with a user's env, and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from parcade.env.make import make
from parcade.env.slot import leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, ParcadeError
from parcade.game.titles import title_names

SLOW_RESET_S = 1.0
SEEDS = (1, 2)

Trace = list[tuple[Any, float, bool, bool]]  # observation, reward, terminated, truncated; the first from reset


class _Fault(Exception):  # noqa: N818 - found, told and never raised to the user
    """The env cannot be checked any further."""


def check_env(env: gym.Env[Any, Any] | Callable[[], Any] | EnvSpec | str, *, steps: int = 200) -> list[str]:
    """Return what is wrong, one sentence each with what to do; an empty list means that a pool can run the env.

    ``env``: a factory (best: all can be checked), a spec, a title's name, a Gymnasium id, or an env, which is not
    closed. Plays a few episodes of at most ``steps`` steps with random actions.
    """
    faults: list[str] = []
    try:
        maker, own = _maker(env, faults)
        first = _make(maker)
        try:
            _check(first, maker if own else None, faults, steps)
        finally:
            if own:
                first.close()
    except _Fault as fault:
        faults.append(str(fault))
    return faults


def _maker(env: Any, faults: list[str]) -> tuple[Callable[[], Any], bool]:
    """Return how to make the env, and whether what it makes is ours to close."""
    if isinstance(env, gym.Env):
        return (lambda: env), False
    if isinstance(env, str):
        env = EnvSpec(game=env) if env in title_names() else EnvSpec(env_id=env)
    if isinstance(env, EnvSpec):
        spec = env
        return (lambda: make(spec)), True
    if not callable(env):
        raise _Fault(f"Wanted an env, a factory, a spec or a name, got {type(env).__name__}.")
    return _travelled(env, faults), True


def _travelled(factory: Callable[[], Any], faults: list[str]) -> Callable[[], Any]:
    """Return the factory as a worker gets it."""
    import cloudpickle

    try:
        data = cloudpickle.dumps(factory)
    except Exception as error:
        faults.append(
            f"The factory cannot be pickled ({error}). Workers need that: make files, sockets, locks and emulators "
            "inside the factory, not outside it."
        )
        return factory
    return lambda: cloudpickle.loads(data)()


def _make(maker: Callable[[], Any]) -> gym.Env[Any, Any]:
    try:
        env = maker()
    except ParcadeError as error:
        raise _Fault(f"{error}.") from None
    except Exception as error:
        raise _Fault(f"The env cannot be made: {_words(error)}. Call the factory by itself to see where.") from None
    if not isinstance(env, gym.Env):
        raise _Fault(f"The factory returned {type(env).__name__}. Return a gymnasium.Env.")
    return env


def _check(env: gym.Env[Any, Any], maker: Callable[[], Any] | None, faults: list[str], steps: int) -> None:
    _check_spaces(env, faults)
    actions = _actions(env.action_space, steps)
    trace, reset_s = _play(env, SEEDS[0], actions, faults)
    if faults:
        return
    if reset_s > SLOW_RESET_S:
        faults.append(
            f"reset took {reset_s:.1f} s. Every episode waits for it: load files once in the constructor, or start "
            "from a saved state."
        )
    _check_same_again(env, trace, actions, faults)
    if maker is not None and not faults:
        _check_second_env(maker, trace, actions, faults)


def _check_spaces(env: gym.Env[Any, Any], faults: list[str]) -> None:
    for name in ("observation_space", "action_space"):
        space = getattr(env, name, None)
        if not isinstance(space, spaces.Space):
            raise _Fault(f"The env has no {name}. Set self.{name} in the constructor.")
        try:
            leaves(space)
        except EnvError as error:
            raise _Fault(f"The {name} cannot be used: {error}.") from None
    if (
        isinstance(env.action_space, spaces.Box)
        and not np.isfinite([env.action_space.low, env.action_space.high]).all()
    ):
        faults.append(
            "The action space has no bounds. Give the Box finite low and high, or a policy cannot scale to it."
        )


def _actions(space: spaces.Space[Any], steps: int) -> list[Any]:
    space.seed(0)
    return [space.sample() for _ in range(steps)]


def _play(env: gym.Env[Any, Any], seed: int, actions: list[Any], faults: list[str]) -> tuple[Trace, float]:
    """Play one episode and judge everything it returns; return what came and how long reset took."""
    started = time.perf_counter()
    trace: Trace = [(_reset(env, seed), 0.0, False, False)]
    reset_s = time.perf_counter() - started
    found = _observation_faults(env.observation_space, trace[0][0], "reset")
    for action in actions:
        if found:  # each fault is told once
            break
        observation, reward, terminated, truncated = _step(env, action)
        found += _observation_faults(env.observation_space, observation, "step")
        found += _result_faults(reward, terminated, truncated)
        trace.append((_copied(observation), _number(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            break
    faults += found
    return trace, reset_s


def _reset(env: gym.Env[Any, Any], seed: int) -> Any:
    try:
        answer = env.reset(seed=seed)
    except TypeError as error:
        raise _Fault(f"reset failed: {error}. Define it as reset(self, *, seed=None, options=None).") from None
    except Exception as error:
        raise _Fault(
            f"reset raised {_words(error)}. A pool would restart its worker and truncate the episode."
        ) from None
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)):
        raise _Fault(f"reset returned {_kind(answer)}. Return (observation, info), info a dict.")
    return _copied(answer[0])


def _step(env: gym.Env[Any, Any], action: Any) -> tuple[Any, Any, Any, Any]:
    try:
        answer: Any = env.step(action)
    except Exception as error:
        raise _Fault(
            f"step raised {_words(error)} for the action {action!r}. A pool would restart its worker and truncate the "
            "episode. Every action of the action space must be allowed until the episode ends."
        ) from None
    if not (isinstance(answer, tuple) and len(answer) == 5):
        raise _Fault(f"step returned {_kind(answer)}. Return (observation, reward, terminated, truncated, info).")
    return answer[:4]


def _observation_faults(space: spaces.Space[Any], value: Any, where: str, path: str = "") -> list[str]:
    """Return how an observation differs from its space, leaf by leaf."""
    name = f"The observation{f' {path!r}' if path else ''} of {where}"
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping) or set(value) != set(space.spaces):
            return [f"{name} is {_kind(value)}. Return a dict with the keys {sorted(space.spaces)}."]
        parts = [(key, part, value[key]) for key, part in space.spaces.items()]
    elif isinstance(space, spaces.Tuple):
        if not isinstance(value, tuple) or len(value) != len(space.spaces):
            return [f"{name} is {_kind(value)}. Return a tuple of {len(space.spaces)} parts."]
        parts = [(str(index), part, value[index]) for index, part in enumerate(space.spaces)]
    else:
        return _leaf_faults(space, value, name)
    return [f for key, part, v in parts for f in _observation_faults(part, v, where, f"{path}/{key}" if path else key)]


def _leaf_faults(space: spaces.Space[Any], value: Any, name: str) -> list[str]:
    if isinstance(space, spaces.Discrete):
        fine = isinstance(value, int | np.integer) or (isinstance(value, np.ndarray) and value.shape == ())
        if not fine or not space.contains(np.int64(value)):
            return [f"{name} is {value!r}, outside {space}. Return one of its numbers."]
        return []
    if not isinstance(value, np.ndarray):
        return [f"{name} is {_kind(value)}. Return a numpy array of {space.dtype} and shape {space.shape}."]
    if value.shape != space.shape:
        return [f"{name} has shape {value.shape}, its space {space.shape}. Make them equal."]
    if value.dtype != space.dtype:
        return [f"{name} has dtype {value.dtype}, its space {space.dtype}. Convert it, or change the space."]
    if value.dtype.kind == "f" and np.isnan(value).any():
        return [f"{name} holds NaN. A network cannot learn from that: find the division or the unset value."]
    if not space.contains(value):
        return [f"{name} lies between {value.min()} and {value.max()}, outside {space}. Widen the space or clip."]
    return []


def _result_faults(reward: Any, terminated: Any, truncated: Any) -> list[str]:
    found = []
    if not isinstance(reward, int | float | np.integer | np.floating) or isinstance(reward, bool):
        found.append(f"The reward is {_kind(reward)}. Return a float.")
    elif not np.isfinite(reward):
        found.append(f"The reward is {reward}. Return a finite number.")
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            found.append(f"{name} is {_kind(value)}. Return True or False.")
    return found


def _check_same_again(env: gym.Env[Any, Any], trace: Trace, actions: list[Any], faults: list[str]) -> None:
    """A pool brings a dead worker back by playing its episodes again: the same seed and actions, the same episode."""
    first = _reset(env, SEEDS[0])
    if not _equal(first, trace[0][0]):
        faults.append(
            "reset(seed=1) gave two different observations. Take all randomness from self.np_random, after "
            "super().reset(seed=seed)."
        )
        return
    if trace[-1][2] or trace[-1][3]:  # the reset after the end has to open a playable episode
        _, _, terminated, truncated = _step(env, actions[0])
        if len(trace) > 2 and (terminated or truncated):
            faults.append("The first step after an ended episode ends again. Clear all state of the episode in reset.")
            return
    _play(env, SEEDS[1], actions, [])
    again, _ = _play(env, SEEDS[0], actions, [])
    step = _first_difference(trace, again)
    if step is not None:
        faults.append(
            f"The same seed and actions gave another episode, from step {step} on, after other episodes were played. "
            "A worker that dies could not be brought back exactly. Clear all state in reset and use self.np_random "
            "only: no global randomness, no clock."
        )


def _check_second_env(maker: Callable[[], Any], trace: Trace, actions: list[Any], faults: list[str]) -> None:
    other = _make(maker)
    try:
        again, _ = _play(other, SEEDS[0], actions, [])
    finally:
        other.close()
    step = _first_difference(trace, again)
    if step is not None:
        faults.append(
            f"Two envs of one factory gave different episodes for the same seed and actions, from step {step} on. "
            "What an episode is must depend on its seed alone, not on the env's number or the time it was made."
        )


def _first_difference(left: Trace, right: Trace) -> int | None:
    for step, (a, b) in enumerate(zip(left, right, strict=False)):
        if a[1:] != b[1:] or not _equal(a[0], b[0]):
            return step
    return None if len(left) == len(right) else min(len(left), len(right))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_equal, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _copied(value: Any) -> Any:
    """Return an observation the env cannot change any more."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _number(reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        return 0.0


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} parts"
    return f"{value!r}, a {type(value).__name__}"
