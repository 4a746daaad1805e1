"""Whether single answers of an env fit its spaces, and what to do where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from parcade.env.slot import truth_of
from parcade.errors import EnvError


class Fault(NamedTuple):
    """What is wrong, in one or two sentences with what to do; ``is_fatal``: nothing can be learned in such an env."""

    text: str
    is_fatal: bool = False


def observation_faults(space: spaces.Space[Any], value: Any, where: str, path: str = "") -> list[Fault]:
    """Return how an observation differs from its space, leaf by leaf; ``where`` says which observation it is."""
    name = f"The observation{f' {path!r}' if path else ''} of {where}"
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping) or set(value) != set(space.spaces):
            return [Fault(f"{name} is {kind_of(value)}. Return a dict with the keys {sorted(space.spaces)}.", True)]
        parts = [(key, part, value[key]) for key, part in space.spaces.items()]
    elif isinstance(space, spaces.Tuple):
        if not isinstance(value, tuple) or len(value) != len(space.spaces):
            return [Fault(f"{name} is {kind_of(value)}. Return a tuple of {len(space.spaces)} parts.", True)]
        parts = [(str(index), part, value[index]) for index, part in enumerate(space.spaces)]
    else:
        fault = _leaf_fault(space, value, name)
        return [] if fault is None else [fault]
    return [f for key, part, v in parts for f in observation_faults(part, v, where, f"{path}/{key}" if path else key)]


def _leaf_fault(space: spaces.Space[Any], value: Any, name: str) -> Fault | None:
    if isinstance(space, spaces.Discrete):
        fine = isinstance(value, int | np.integer) or (isinstance(value, np.ndarray) and value.shape == ())
        if fine and space.contains(np.int64(value)):
            return None
        return Fault(f"{name} is {value!r}, outside {space}. Return one of its numbers.", True)
    if not isinstance(value, np.ndarray):
        return Fault(
            f"{name} is {kind_of(value)}. Return a numpy array of {space.dtype} and shape {space.shape}.",
            not _can_be_copied(value, space),
        )
    if value.shape != space.shape:
        return Fault(f"{name} has shape {value.shape}, its space {space.shape}. Make them equal.", True)
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        what = "NaN" if np.isnan(value).any() else "an infinite number"
        return Fault(
            f"{name} holds {what}. A network cannot learn from that: find the division or the unset value.", True
        )
    if value.dtype != space.dtype:
        return Fault(
            f"{name} has dtype {value.dtype}, its space {space.dtype}. Convert it, or change the space.",
            not _can_be_copied(value, space),
        )
    if not space.contains(value):
        return Fault(f"{name} lies between {value.min()} and {value.max()}, outside {space}. Widen the space or clip.")
    return None


def _can_be_copied(value: Any, space: spaces.Space[Any]) -> bool:
    """Whether a pool can copy the value into its rows without changing it, but for rounding."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    fits = array.shape == space.shape and array.dtype.kind in "biuf"
    return fits and np.can_cast(array.dtype, np.dtype(space.dtype), "same_kind")


def result_faults(reward: Any, terminated: Any, truncated: Any, where: str) -> list[Fault]:
    """Return how what a step returns beside its observation differs from what is wanted."""
    found = []
    if not isinstance(reward, int | float | np.integer | np.floating) or isinstance(reward, bool):
        is_number = isinstance(reward, bool | np.bool_) or (isinstance(reward, np.ndarray) and reward.size == 1)
        found.append(Fault(f"The reward of {where} is {kind_of(reward)}. Return a float.", not is_number))
    elif not np.isfinite(reward):
        found.append(Fault(f"The reward of {where} is {reward}. Return a finite number.", True))
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            found.append(Fault(f"{name} of {where} is {kind_of(value)}. Return True or False.", not is_truth(value)))
    return found


def is_truth(value: Any) -> bool:
    """Whether a pool takes the value for True or False."""
    try:
        truth_of(value, "")
    except EnvError:
        return False
    return True


def words_of(error: BaseException) -> str:
    """Return an exception for a message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def kind_of(value: Any) -> str:
    """Return what a value is, for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} parts"
    return f"{value!r}, a {type(value).__name__}"
