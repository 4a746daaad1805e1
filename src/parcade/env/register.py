"""Our games as Gymnasium ids: after ``parcade.register_envs()``, ``gymnasium.make("parcade/Lantern-v0")``."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from parcade.env.racing.variants import FAST_ID

_IDS = {"parcade/Lantern-v0": "lantern", "parcade/Meadow-v0": "meadow"}

_NOT_OPTIONS = {"env_id", "factory", "imports", "registered", "slot", "watch"}


def register_envs() -> None:
    """Make the built-in games known to ``gymnasium.make``; twice is fine."""
    for env_id, game in _IDS.items():
        if env_id not in gym.registry:
            gym.register(env_id, entry_point="parcade.env.register:make_title", kwargs={"game": game})
    if FAST_ID not in gym.registry:
        # By name: the module pulls in Box2D and pygame.
        entry_point = "parcade.env.racing.env:FastCarRacing"
        gym.register(FAST_ID, entry_point=entry_point, max_episode_steps=1000, reward_threshold=900)


def make_title(game: str, **options: Any) -> gym.Env[Any, Any]:
    """Make a title's env; ``options`` are fields of EnvSpec."""
    from parcade.env.make import make
    from parcade.env.spec import EnvSpec
    from parcade.errors import EnvError
    from parcade.game.titles import title_names

    unfit = sorted(_NOT_OPTIONS & set(options)) or ([] if game in title_names() else ["game"])
    if unfit:
        raise EnvError(f"parcade's ids take no argument {unfit[0]!r}: each is one title")
    render_mode = options.pop("render_mode", None)
    return make(EnvSpec(game=game, render=render_mode == "rgb_array", **options))
