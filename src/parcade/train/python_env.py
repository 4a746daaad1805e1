"""An env as Python users name it: a title, a Gymnasium id, or a function that makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from parcade.env.factory import pickle_factory
from parcade.errors import SettingsError
from parcade.game.titles import title_names

PythonEnv = str | Callable[[], gym.Env[Any, Any]]


def named_env(env: PythonEnv | None) -> tuple[dict[str, Any], bytes | None]:
    """Return the settings that name the env, and the pickled function where it is one."""
    if env is None:
        return {}, None
    if isinstance(env, str):
        return {"game" if env in title_names() or ":" in env else "env_id": env}, None
    if not callable(env):
        raise SettingsError(
            f"env is a {type(env).__name__}, wanted a title, a Gymnasium id or a function that makes an env: "
            "every game needs its own"
        )
    return {"env_factory": getattr(env, "__qualname__", type(env).__name__)}, pickle_factory(env)
