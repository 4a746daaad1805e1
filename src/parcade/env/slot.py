"""An env as a pool sees it: it writes its observation into rows it is handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.env.info_metrics import InfoMetrics
from parcade.errors import EnvError

Rows = Mapping[str, npt.NDArray[Any]]  # leaf name -> the slot's row in the slab
WHOLE = "obs"  # the leaf name of an observation that is one array


class SlotEnv(Protocol):
    """What a worker steps; every gymnasium.Env becomes one through ``as_slot_env``."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    metric_names: tuple[str, ...]

    def begin(self, seed: int, rows: Rows) -> None:
        """Start the episode of ``seed`` and write its first observation.

        An env that takes reset options has a third argument, ``options``; one that tells infos has ``last_info``.
        """
        ...

    def advance(self, action: Any, rows: Rows) -> tuple[float, bool, bool]:
        """Take one step, write the observation, return reward, terminated, truncated."""
        ...

    def episode_metrics(self) -> Sequence[float]:
        """Return the values of ``metric_names`` for the episode so far."""
        ...

    def close(self) -> None:
        """Free everything; twice is fine."""
        ...


def leaves(space: spaces.Space[Any]) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Return name, shape and dtype of every array an observation (or action) of ``space`` consists of.

    >>> leaves(spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))}))["b"]
    ((2,), dtype('float32'))
    """
    simple = leaf_spaces(space).items()
    return {name: (tuple(leaf.shape or ()), np.dtype(leaf.dtype)) for name, leaf in simple}


def leaf_spaces(space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
    """Return the simple spaces that ``space`` consists of, by leaf name."""
    found: dict[str, spaces.Space[Any]] = {}
    _collect("", space, found)
    return found


def _collect(path: str, space: spaces.Space[Any], found: dict[str, spaces.Space[Any]]) -> None:
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            _collect(f"{path}/{key}" if path else str(key), part, found)
    elif isinstance(space, spaces.Tuple):
        for index, part in enumerate(space.spaces):
            _collect(f"{path}/{index}" if path else str(index), part, found)
    elif isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        found[path or WHOLE] = space
    else:
        raise EnvError(
            f"{type(space).__name__} spaces cannot be shared between processes; "
            "use Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple"
        )


def leaf_choices(space: spaces.Space[Any]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return, for each leaf whose numbers name choices, how many choices each number has and which is the first.

    >>> leaf_choices(spaces.Dict({"a": spaces.Discrete(3, start=1), "b": spaces.Box(0, 1, (2,))}))
    {'a': ((3, 1),)}
    """
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for path, leaf in leaf_spaces(space).items():
        if isinstance(leaf, spaces.Discrete):
            found[path] = ((int(leaf.n), int(leaf.start)),)
        elif isinstance(leaf, spaces.MultiDiscrete):
            counts, starts = leaf.nvec.flatten().tolist(), leaf.start.flatten().tolist()
            found[path] = tuple(zip(counts, starts, strict=True))
    return found


def fresh_rows(space: spaces.Space[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return rows of their own for one observation of ``space``, not yet written."""
    return {name: np.empty(shape, dtype) for name, (shape, dtype) in leaves(space).items()}


def write_leaves(space: spaces.Space[Any], value: Any, rows: Rows, path: str = "") -> None:
    """Copy an observation of ``space`` into its rows."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            write_leaves(part, value[key], rows, f"{path}/{key}" if path else str(key))
    elif isinstance(space, spaces.Tuple):
        for index, part in enumerate(space.spaces):
            write_leaves(part, value[index], rows, f"{path}/{index}" if path else str(index))
    else:
        rows[path or WHOLE][...] = value


def read_leaves(space: spaces.Space[Any], rows: Mapping[str, Any], path: str = "") -> Any:
    """Return the observation of ``space`` that the rows hold, in the space's own structure (no copies)."""
    if isinstance(space, spaces.Dict):
        return {
            key: read_leaves(part, rows, f"{path}/{key}" if path else str(key)) for key, part in space.spaces.items()
        }
    if isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
        return tuple(read_leaves(part, rows, f"{path}/{index}" if path else str(index)) for index, part in parts)
    return rows[path or WHOLE]


class CopyingSlotEnv:
    """Any gymnasium.Env as a SlotEnv, by one copy per step; ``last_info`` is what the env told last."""

    def __init__(self, env: gym.Env[Any, Any], info_keys: Sequence[str] = ()) -> None:
        self.env = env
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self._metrics = InfoMetrics(info_keys)
        self.metric_names = self._metrics.names
        self.last_info: dict[str, Any] = {}
        leaves(self.observation_space)

    def begin(self, seed: int, rows: Rows, options: Mapping[str, Any] | None = None) -> None:
        """Reset with the seed and copy the observation."""
        observation, self.last_info = self.env.reset(
            seed=seed, **({} if options is None else {"options": dict(options)})
        )
        write_leaves(self.observation_space, observation, rows)

    def advance(self, action: Any, rows: Rows) -> tuple[float, bool, bool]:
        """Step and copy the observation."""
        observation, reward, terminated, truncated, self.last_info = self.env.step(action)
        write_leaves(self.observation_space, observation, rows)
        return float(reward), bool(terminated), bool(truncated)

    def episode_metrics(self) -> Sequence[float]:
        """Return what the last info tells."""
        return self._metrics.values(self.last_info)

    def close(self) -> None:
        """Close the env."""
        self.env.close()


def as_slot_env(env: gym.Env[Any, Any], info_keys: Sequence[str] = ()) -> SlotEnv:
    """Return ``env`` itself if it writes in place, else a copying wrapper with metrics of ``info_keys``."""
    if all(hasattr(env, name) for name in ("begin", "advance", "episode_metrics", "metric_names")):
        return env  # type: ignore[return-value]
    return CopyingSlotEnv(env, info_keys)
