"""How many games, steps and rows go together where the user named only some of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from parcade.host.cores import usable_cores
from parcade.host.input_file import short

N_STEPS = 128  # of a game in one update, where nobody says another number
_BATCH_SIZE = 1024
AUTO = "auto"
MAY_BE_AUTO = ("n_envs", "n_workers", "num_threads")  # what `parcade tune` measures


def usual_envs() -> int:
    """Return how many games run at once where nobody says a number."""
    return 16 * usable_cores()


def fitted(given: Mapping[str, Any], title: Mapping[str, Any], merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``n_envs``, ``n_steps`` and ``batch_size`` as far as the user did not give them.

    ``merged`` is what the user and the title say together.
    """
    values = dict(merged)
    if given.get("n_envs") is None:
        values["n_envs"] = _fitting_envs(given, title, merged.get("total_timesteps"))
    if "n_steps" not in given and title:
        values["n_steps"] = _fitting_steps(values["n_envs"], title)
    if "batch_size" not in given:
        values["batch_size"] = _fitting_batch(values)
    return {name: values[name] for name in ("n_envs", "n_steps", "batch_size") if name in values}


def _fitting_envs(given: Mapping[str, Any], title: Mapping[str, Any], total: Any) -> int:
    """Return the usual number of games; fewer where the user wants more steps of each: an update keeps its size.

    A game for each core stays, as long as one update does not exceed the whole training.
    """
    usual = int(title.get("n_envs") or usual_envs())
    steps = _whole(given.get("n_steps"))
    if steps is None:
        return usual
    rows = usual * int(title.get("n_steps", N_STEPS))
    games = min(usual, max(rows // steps, usable_cores()))
    whole = _whole(total)
    return games if whole is None else min(games, max(1, whole // steps))


def _fitting_steps(n_envs: Any, title: Mapping[str, Any]) -> int:
    """Return the title's steps per update; more with fewer games than it recommends: an update keeps its size."""
    games, steps = title.get("n_envs"), int(title.get("n_steps", N_STEPS))
    present = _whole(n_envs)
    if games is None or present is None:
        return steps
    return max(steps, min(N_STEPS, int(games) * steps // present))


def _fitting_batch(values: Mapping[str, Any]) -> int:
    wanted: int = values.get("batch_size", _BATCH_SIZE)
    n_envs, n_steps = _whole(values["n_envs"]), _whole(values.get("n_steps") or N_STEPS)
    if n_envs is None or n_steps is None or n_envs * n_steps < 2:
        return wanted  # told as a fault of its own
    shards = _whole(values.get("shards", 1)) or 1
    return max(2, min(wanted, n_envs * n_steps // 4) // shards * shards)


def whole_number(text: str) -> int:
    """Read 1000000, 1_000_000, 1e6, 250k or 2M."""
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        number = float(text[:-1] if factor > 1 else text.replace("_", "")) * factor
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{short(text)} is not a whole number")


def _whole(value: Any) -> int | None:
    """Return a whole number from 1 on; anything else is told as a fault of its own."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = whole_number(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None
