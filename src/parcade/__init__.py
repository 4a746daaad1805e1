"""Parcade trains agents on emulated console games and any Gymnasium env, many games at once.

from parcade import train, evaluate, load_policy, make_env, make_pool
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
_PUBLIC = {
    "train": "parcade.train",  # callable; Python puts the package here once one of its modules is used
    "resume": "parcade.api:resume",
    "evaluate": "parcade.api:evaluate",
    "replay": "parcade.train.replay:replay",
    "make_env": "parcade.api:make_env",
    "make_pool": "parcade.api:make_pool",
    "load_policy": "parcade.api:load_policy",
    "export_model": "parcade.export.export:export_model",
    "EnvSpec": "parcade.env.spec:EnvSpec",
    "check_env": "parcade.env.check:check_env",
    "GymnasiumVectorEnv": "parcade.pool.adapters:GymnasiumVectorEnv",
    "Sb3VecEnv": "parcade.pool.adapters:Sb3VecEnv",
    "register_envs": "parcade.env.register:register_envs",
}
__all__ = [*_PUBLIC, "__version__"]

if TYPE_CHECKING:
    from parcade.api import evaluate as evaluate
    from parcade.api import load_policy as load_policy
    from parcade.api import make_env as make_env
    from parcade.api import make_pool as make_pool
    from parcade.api import resume as resume
    from parcade.api import train as train
    from parcade.env.check import check_env as check_env
    from parcade.env.register import register_envs as register_envs
    from parcade.env.spec import EnvSpec as EnvSpec
    from parcade.export.export import export_model as export_model
    from parcade.pool.adapters import GymnasiumVectorEnv as GymnasiumVectorEnv
    from parcade.pool.adapters import Sb3VecEnv as Sb3VecEnv
    from parcade.train.replay import replay as replay


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import parcade` itself pulls in neither torch nor an emulator."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'parcade' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    value = getattr(import_module(module), attribute) if attribute else import_module(module)
    globals()[name] = value
    return value
