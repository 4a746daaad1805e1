"""Actions on their way into the block: checked once, cheaply, and written leaf by leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.env.slot import leaf_spaces, leaves
from parcade.errors import SettingsError
from parcade.host.input_file import short
from parcade.pool.actor import Array

_FEW = 32  # choices that Python compares quicker than NumPy: the check and write of 8 take 1.6 instead of 3.4 us


class ActionWriter:
    """Writes one action for each of some slots; what does not fit the space is refused in words."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._space, self._simple = space, leaf_spaces(space)
        self._shapes = {leaf: shape for leaf, (shape, _) in leaves(space).items()}
        self._ranges = {leaf: _range(part) for leaf, part in self._simple.items()}

    def write(self, actions: Any, rows: Mapping[str, Array]) -> None:
        """Write ``actions``, an array (slots, ...) at each leaf of the space, into ``rows``; else raise ValueError."""
        self._write(self._space, actions, rows, "")

    def write_given(self, actions: Any, rows: Mapping[str, Array], whose: str = "the actions") -> None:
        """Write actions that a user chose; what does not fit is refused in one sentence about ``whose`` it is."""
        try:
            self.write(actions, rows)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise SettingsError(f"{whose} are {error}") from None

    def check(self, rows: Mapping[str, Array]) -> None:
        """Raise ValueError where rows of actions, (n, ...) at each leaf, are not what the space holds."""
        if rows.keys() != self._shapes.keys():
            raise ValueError(f"actions of {', '.join(rows) or 'nothing'}, wanted those of {', '.join(self._shapes)}")
        for leaf, array in rows.items():
            self._checked(leaf, array, len(array), is_named=True)

    def _write(self, space: spaces.Space[Any], value: Any, rows: Mapping[str, Array], path: str) -> None:
        if isinstance(space, spaces.Dict):
            for key, part in space.spaces.items():
                self._write(part, value[key], rows, f"{path}/{key}" if path else str(key))
        elif isinstance(space, spaces.Tuple):
            for index, part in enumerate(space.spaces):
                self._write(part, value[index], rows, f"{path}/{index}" if path else str(index))
        else:
            leaf = path or next(iter(rows))
            rows[leaf][...] = self._checked(leaf, value, len(rows[leaf]), bool(path))

    def _checked(self, leaf: str, value: Any, n: int, is_named: bool) -> Array:
        found, wanted = np.asarray(value), (n, *self._shapes[leaf])
        where = f" for {leaf!r}" if is_named else ""
        is_whole = self._ranges[leaf] is not None
        if found.shape != wanted or found.dtype.kind not in ("biu" if is_whole else "fbiu"):
            kind = "whole numbers" if is_whole else "numbers"
            raise ValueError(f"{found.dtype} of shape {found.shape}{where}, wanted {kind} of shape {wanted}")
        if is_whole and found.size:
            least, most = self._ranges[leaf]  # type: ignore[misc]
            if not _is_within(found, least, most):
                limits = f"{least} to {most}" if np.ndim(least) == 0 else f"{least.tolist()} to {most.tolist()}"
                raise ValueError(f"{short(found.tolist())}{where}, wanted numbers from {limits}")
        elif found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{short(found.tolist())}{where}, which holds what is no number")
        return found


def _is_within(found: Array, least: Any, most: Any) -> bool:
    """Whether all numbers are from ``least`` to ``most``."""
    if found.ndim == 1 and len(found) <= _FEW:
        numbers = found.tolist()
        return bool(least <= min(numbers) and max(numbers) <= most)
    return not ((found < least).any() or (found > most).any())


def _range(space: spaces.Space[Any]) -> tuple[Any, Any] | None:
    """Return the least and the largest whole number of a space, None where any number will do."""
    if isinstance(space, spaces.Discrete):
        return int(space.start), int(space.start + space.n) - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return (0, 1) if isinstance(space, spaces.MultiBinary) else None
