"""An env as a pool sees it: it writes its observation into rows it is handed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.env.info_metrics import InfoMetrics
from parcade.errors import EnvError
from parcade.host.input_file import short

Rows = Mapping[str, npt.NDArray[Any]]  # leaf name -> the slot's row in the block
_FEW = 8  # numbers that a message shows
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
        if 0 in (space.shape or ()):
            what = f"the space {path!r}" if path else "the space"
            raise EnvError(f"{what} is {space} and holds no number; leave it out or give it one")
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
        _check_parts(value, Mapping, space.spaces, path)
        for key, part in space.spaces.items():
            write_leaves(part, value[key], rows, f"{path}/{key}" if path else str(key))
    elif isinstance(space, spaces.Tuple):
        _check_parts(value, tuple | list | np.ndarray, space.spaces, path)
        for index, part in enumerate(space.spaces):
            write_leaves(part, value[index], rows, f"{path}/{index}" if path else str(index))
    else:
        _write_leaf(space, value, rows[path or WHOLE], path or WHOLE)


def _check_parts(value: Any, kind: Any, parts: Collection[Any], path: str) -> None:
    """Refuse what does not have the parts of a Dict or Tuple space; a Mapping may have more."""
    which = f"its observation {path!r}" if path else "its observation"
    if not isinstance(value, kind):
        raise EnvError(f"{which} is {short(value)}, wanted a {'dict' if kind is Mapping else 'tuple'}")
    if isinstance(value, Mapping):
        missing = [str(key) for key in parts if key not in value]
        if missing:
            raise EnvError(f"{which} lacks {', '.join(map(repr, missing))}")
    elif len(value) != len(parts):
        raise EnvError(f"{which} has {len(value)} parts, its space {len(parts)}")


def _write_leaf(space: spaces.Space[Any], value: Any, row: npt.NDArray[Any], name: str) -> None:
    """Copy one array; refuse what does not fit, which NumPy would spread, wrap or parse in silence."""
    given = value if isinstance(value, np.ndarray) else np.asarray(value)
    if given.shape != row.shape:
        raise EnvError(f"its observation {name!r} has shape {given.shape}, its space {row.shape}")
    if given.dtype != row.dtype and not _fits(given, row.dtype):
        raise EnvError(f"its observation {name!r} is {_misfit(given, row.dtype)}, which does not fit {row.dtype}")
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete) and not space.contains(given.astype(row.dtype)):
        raise EnvError(f"its observation {name!r} is {short(value)}, outside {space}")
    if given.dtype == row.dtype:
        row[...] = given
        return
    try:
        with np.errstate(over="raise"):  # a number too large for the row's floats would be infinite there
            row[...] = given
    except FloatingPointError:
        raise EnvError(
            f"its observation {name!r} is {_misfit(given, row.dtype)}, which does not fit {row.dtype}"
        ) from None


def _fits(given: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether numbers keep their meaning in ``dtype``; floats may be rounded."""
    if given.dtype.kind not in "biuf":
        return False
    if dtype.kind == "f":
        return True
    with np.errstate(invalid="ignore"):  # of NaN
        return bool((given.astype(dtype) == given).all())


def _misfit(given: npt.NDArray[Any], dtype: np.dtype[Any]) -> str:
    """Return what does not fit ``dtype``, for a message: of a large array its first such number."""
    if given.size <= _FEW or given.dtype.kind not in "biuf":
        return " ".join(short(given.tolist()).split())
    with np.errstate(all="ignore"):
        cast = given.astype(dtype)
    fits = cast == given if dtype.kind in "biu" else np.isfinite(cast) | ~np.isfinite(given)
    return f"an array of {given.dtype} with {given[~fits][0]} in it"


def number_of(reward: Any) -> float:
    """Return a reward as a float; refuse text and None."""
    if isinstance(reward, float | int | np.number | np.bool_):
        return float(reward)
    if isinstance(reward, np.ndarray) and reward.size == 1:
        return float(reward.item())
    raise EnvError(f"its reward is {short(reward)}, wanted a number")


def truth_of(value: Any, name: str) -> bool:
    """Return whether a step's ``name`` (terminated or truncated) holds; refuse what is neither a bool nor 0 or 1."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    given = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    if isinstance(given, int | float | np.number) and given in (0, 1):
        return bool(given)
    raise EnvError(f"its {name} is {short(value)}, wanted True or False")


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


def observation_rows(observation: Any) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an observation by leaf name, without its space at hand.

    >>> observation_rows({"a": 1, "b": ([2.0],)})
    {'a': array(1), 'b/0': array([2.])}
    """
    rows: dict[str, npt.NDArray[Any]] = {}
    _collect_rows("", observation, rows)
    return rows


def _collect_rows(path: str, observation: Any, rows: dict[str, npt.NDArray[Any]]) -> None:
    if isinstance(observation, Mapping | tuple):
        parts = observation.items() if isinstance(observation, Mapping) else enumerate(observation)
        for key, part in parts:
            _collect_rows(f"{path}/{key}" if path else str(key), part, rows)
    else:
        rows[path or WHOLE] = np.asarray(observation)


def owned_action(space: spaces.Space[Any], value: Any) -> Any:
    """Return an action the env may keep: rows of a block change with the next one."""
    if isinstance(space, spaces.Dict):
        return {key: owned_action(part, value[key]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(owned_action(part, value[index]) for index, part in enumerate(space.spaces))
    return int(value) if isinstance(space, spaces.Discrete) else np.array(value)


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
        answer = self.env.step(action)
        if not isinstance(answer, tuple | list) or len(answer) != 5:
            raise EnvError(
                f"its step returned {short(answer)}, wanted (observation, reward, terminated, truncated, info)"
            )
        observation, reward, terminated, truncated, self.last_info = answer
        write_leaves(self.observation_space, observation, rows)
        return number_of(reward), truth_of(terminated, "terminated"), truth_of(truncated, "truncated")

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
