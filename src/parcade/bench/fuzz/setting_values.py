"""Values for every setting, wrong and extreme ones, taken from the schema."""

from __future__ import annotations

from functools import cache
from typing import Any

from parcade.bench.fuzz.damage import WRONG_VALUES, Rng
from parcade.config.settings import TrainSettings, make_settings
from parcade.errors import SettingsError

_LIMITS = ("ge", "gt", "le", "lt")
_NUMBERS = (3, 17, 64, 1_000, 100_000, 10**12, 10**18, 1e-45, 1e-8, 0.999, 1.5, 1e5, 1e15, 1e30, 3.3e38)
NOT_FUZZED = {"log_root", "run_name"}  # where a case's own files go


def setting_names() -> list[str]:
    """Return all settings."""
    return [name for name in TrainSettings.model_fields if name not in NOT_FUZZED]


@cache
def values_for(name: str) -> tuple[Any, ...]:
    """Return what is tried of a setting: wrong kinds for all, extremes, and what stands around its limits."""
    field = TrainSettings.model_fields[name]
    around: list[Any] = []
    for limit in field.metadata:
        for word in _LIMITS:
            edge = getattr(limit, word, None)
            if edge is not None:
                around += [edge, edge - 1, edge + 1, -edge]
    known = list(getattr(field.annotation, "__args__", ()))
    words = [word for kind in known for word in getattr(kind, "__args__", ()) if isinstance(word, str)]
    words += [word for word in known if isinstance(word, str)]
    return (*around, *words, *(word.upper() for word in words), *_NUMBERS, *WRONG_VALUES)


@cache
def accepted_values(name: str) -> tuple[Any, ...]:
    """Return those of ``values_for`` that the schema has nothing against: a training may begin with them."""
    return tuple(value for value in values_for(name) if _is_accepted(name, value))


def _is_accepted(name: str, value: Any) -> bool:
    try:
        make_settings({"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 32, name: value})
        return True
    except SettingsError:
        return False


def chosen_settings(rng: Rng) -> dict[str, Any]:
    """Return one to three settings with any value, or with one that the schema accepts."""
    names, of = setting_names(), accepted_values if rng.random() < 0.6 else values_for
    picked = rng.choice(len(names), int(rng.choice([1, 1, 1, 2, 3])), replace=False)
    return {names[n]: _one(rng, of(names[n]) or values_for(names[n])) for n in picked.tolist()}


def _one(rng: Rng, values: tuple[Any, ...]) -> Any:
    return values[int(rng.integers(len(values)))]
