"""Action spaces as JSON, for model files."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.errors import EnvError, ModelFileError


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return plain data for a simple space."""
    if isinstance(space, spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"type": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"type": "MultiBinary", "n": list(space.shape)}
    if isinstance(space, spaces.Box):
        low, high = space.low.tolist(), space.high.tolist()
        return {"type": "Box", "low": _finite(low), "high": _finite(high), "dtype": str(space.dtype)}
    raise EnvError(f"{type(space).__name__} actions are not supported; use Discrete, MultiDiscrete, MultiBinary or Box")


def space_from_json(data: dict[str, Any]) -> spaces.Space[Any]:
    """Return the space ``space_to_json`` described."""
    try:
        kind = data["type"]
        if kind == "Discrete":
            return spaces.Discrete(int(data["n"]), start=int(data["start"]))
        if kind == "MultiDiscrete":
            return spaces.MultiDiscrete(data["nvec"], start=data.get("start"))
        if kind == "MultiBinary":
            return spaces.MultiBinary(data["n"])
        if kind == "Box":
            dtype = np.dtype(data["dtype"])
            low, high = np.array(data["low"], dtype), np.array(data["high"], dtype)
            return spaces.Box(low, high, dtype=dtype.type)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model's action space cannot be read: {error}") from None
    raise ModelFileError(f"the model's action space {kind!r} is not known")


def _finite(values: Any) -> Any:
    """Write infinities as words: JSON has none."""
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return values if np.isfinite(values) else str(values)
