"""Parcade trains agents on emulated console games and any Gymnasium env, many games at once.

from parcade import train, evaluate, load_policy, make_env, make_pool
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_PUBLIC = {
    "train": "parcade.train.start:train",
    "resume": "parcade.train.resume:resume",
    "evaluate": "parcade.train.evaluation:evaluate",
    "make_env": "parcade.api:make_env",
    "make_pool": "parcade.api:make_pool",
    "load_policy": "parcade.api:load_policy",
    "EnvSpec": "parcade.env.spec:EnvSpec",
    "check_env": "parcade.env.check:check_env",
    "GymnasiumVectorEnv": "parcade.pool.adapters:GymnasiumVectorEnv",
    "Sb3VecEnv": "parcade.pool.adapters:Sb3VecEnv",
    "register_envs": "parcade.env.register:register_envs",
}
__all__ = [*_PUBLIC, "__version__"]

if TYPE_CHECKING:
    from parcade.api import load_policy as load_policy
    from parcade.api import make_env as make_env
    from parcade.api import make_pool as make_pool
    from parcade.env.check import check_env as check_env
    from parcade.env.register import register_envs as register_envs
    from parcade.env.spec import EnvSpec as EnvSpec
    from parcade.pool.adapters import GymnasiumVectorEnv as GymnasiumVectorEnv
    from parcade.pool.adapters import Sb3VecEnv as Sb3VecEnv
    from parcade.train.evaluation import evaluate as evaluate
    from parcade.train.resume import resume as resume
    from parcade.train.start import train as train


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import parcade` itself pulls in neither torch nor an emulator."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'parcade' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
