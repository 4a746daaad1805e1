"""Functions of the user's that make envs, on their way to worker processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from parcade.errors import EnvError


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
