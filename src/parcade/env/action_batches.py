"""Actions as users of vector envs give them: a batch in the space's structure, or one action for each env."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.errors import SettingsError


def batched(space: spaces.Space[Any], actions: Any, n_envs: int, *, prefers_each: bool = False) -> Any:
    """Return ``actions`` in the structure of ``space`` with ``n_envs`` rows at each leaf.

    Of a Dict or Tuple space they may also be a sequence with one action for each env. Where a sequence can be read
    both ways, a list holds one action for each env and a tuple the parts of the space; with ``prefers_each`` both
    hold one for each env.
    """
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return actions
    is_batch = _fits(space, actions, (n_envs,))
    each = list(actions) if isinstance(actions, list | tuple | np.ndarray) else []
    is_each = len(each) == n_envs and all(_fits(space, action, ()) for action in each)
    if is_batch and not (is_each and (prefers_each or isinstance(actions, list))):
        return actions
    if is_each:
        return stacked(space, each)
    raise SettingsError(
        f"the actions are {type(actions).__name__} of {_length(actions)}, wanted one action of {space} for each of "
        f"{n_envs} envs, or its structure with {n_envs} rows at each leaf"
    )


def _fits(space: spaces.Space[Any], value: Any, rows: tuple[int, ...]) -> bool:
    """Whether ``value`` has the structure and the shapes of ``space``, behind the axes ``rows``."""
    if isinstance(space, spaces.Dict):
        is_dict = isinstance(value, Mapping) and value.keys() == space.spaces.keys()
        return is_dict and all(_fits(part, value[key], rows) for key, part in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        is_tuple = isinstance(value, list | tuple) and len(value) == len(space.spaces)
        return is_tuple and all(_fits(part, one, rows) for part, one in zip(space.spaces, value, strict=True))
    try:
        return bool(np.shape(value) == (*rows, *(space.shape or ())))
    except ValueError:  # rows of unequal lengths
        return False


def stacked(space: spaces.Space[Any], each: Sequence[Any]) -> Any:
    """Return single actions as one batch in the structure of ``space``."""
    if isinstance(space, spaces.Dict):
        return {key: stacked(part, [action[key] for action in each]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(stacked(part, [action[at] for action in each]) for at, part in enumerate(space.spaces))
    return np.stack([np.asarray(action) for action in each])


def _length(value: Any) -> str:
    return f"length {len(value)}" if hasattr(value, "__len__") else "no length"
