"""The tasks of `bench learn`: every setting that ours and SB3 share, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parcade.bench.learn_envs import LOCKS, RECALL, TABLE
from parcade.env.spec import EnvSpec

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Published:
    """A result others published, for the reader's orientation; it was reached with other steps than ours."""

    mean: float
    std: float
    env_steps: int
    source: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task; ``settings`` are fields of TrainSettings and hold for ours and for the peer alike."""

    env: Settings  # fields of EnvSpec
    settings: Settings
    env_steps: int  # the budget of one seed
    reach: float  # width of the scores that matter: noise below a hundredth of it is no difference
    score: str = "return"  # or success: the share of evaluated episodes that reached their goal
    deterministic: bool = True  # how both trainers' policies act when evaluated
    episodes: int = 100  # of each seed's evaluation
    peer: str | None = "PPO"  # SB3's PPO, sb3-contrib's RecurrentPPO or MaskablePPO
    at_least: float | None = None  # ours must reach this
    without: Settings = field(default_factory=dict)  # what is changed for the run without memory or masks
    without_at_most: float | None = None  # and what that one must not reach
    published: Published | None = None

    def spec(self, changes: Settings | None = None) -> EnvSpec:
        """Return the env, with what ``changes`` say of it."""
        known = EnvSpec.__dataclass_fields__
        return EnvSpec(**{**self.env, **{name: value for name, value in (changes or {}).items() if name in known}})


_ZOO = "RL Baselines3 Zoo, benchmark.md, SB3 PPO, one run"
_CLASSIC = {"hidden": (64, 64), "activation": "tanh", "clip_range": 0.2, "vf_coef": 0.5, "max_grad_norm": 0.5}
_OURS = {"imports": ("parcade.bench.learn_envs",)}
_LANDER = {
    **_CLASSIC,
    **{"n_envs": 16, "n_steps": 128, "batch_size": 64, "n_epochs": 4, "gamma": 0.999, "gae_lambda": 0.98},
    **{"learning_rate": 3e-4, "lr_schedule": "constant", "ent_coef": 0.01},
}
_LANTERN = {
    **{"n_envs": 32, "n_steps": 128, "n_epochs": 4, "gamma": 0.99, "gae_lambda": 0.95, "clip_range": 0.2},
    **{"learning_rate": 5e-4, "lr_schedule": "linear", "ent_coef": 0.01, "vf_coef": 0.5, "max_grad_norm": 0.5},
}

TASKS: dict[str, Task] = {
    "cartpole": Task(
        env={"env_id": "CartPole-v1"},
        settings={
            **_CLASSIC,
            **{"n_envs": 8, "n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8},
            **{"learning_rate": 1e-3, "lr_schedule": "linear", "clip_schedule": "linear", "ent_coef": 0.0},
        },
        env_steps=102_400,
        reach=500,
        published=Published(500.0, 0.0, 100_000, _ZOO),
    ),
    "acrobot": Task(
        env={"env_id": "Acrobot-v1"},
        settings={
            **_CLASSIC,
            **{"n_envs": 16, "n_steps": 256, "batch_size": 64, "n_epochs": 4, "gamma": 0.99, "gae_lambda": 0.94},
            **{"learning_rate": 3e-4, "lr_schedule": "constant", "ent_coef": 0.0},
        },
        env_steps=204_800,
        reach=430,
        published=Published(-73.506, 18.201, 1_000_000, f"{_ZOO}, observations normalised"),
    ),
    "lunarlander": Task(
        env={"env_id": "LunarLander-v3"},
        settings=_LANDER,
        env_steps=294_912,
        reach=500,
        published=Published(242.119, 31.823, 1_000_000, f"{_ZOO}, LunarLander-v2"),
    ),
    "lunarlander-continuous": Task(
        env={"env_id": "LunarLander-v3", "env_kwargs": {"continuous": True}},
        settings=_LANDER,
        env_steps=294_912,
        reach=500,
        published=Published(270.863, 32.072, 1_000_000, f"{_ZOO}, LunarLanderContinuous-v2"),
    ),
    "memory": Task(
        env={"env_id": RECALL, **_OURS},
        settings={
            **_CLASSIC,
            **{"n_envs": 16, "n_steps": 64, "batch_size": 256, "n_epochs": 8, "gamma": 0.99, "gae_lambda": 0.95},
            **{"learning_rate": 2e-3, "lr_schedule": "linear", "ent_coef": 0.01, "lstm": 64, "hidden": ()},
        },
        env_steps=102_400,
        reach=1,
        episodes=400,
        peer="RecurrentPPO",
        at_least=0.9,
        without={"lstm": 0, "hidden": (64, 64)},
        without_at_most=0.35,  # 0.25 by chance
    ),
    "masked": Task(
        env={"env_id": LOCKS, **_OURS},
        settings={
            **_CLASSIC,
            **{"n_envs": 16, "n_steps": 64, "batch_size": 256, "n_epochs": 8, "gamma": 0.5, "gae_lambda": 0.95},
            **{"learning_rate": 1e-3, "lr_schedule": "linear", "ent_coef": 0.0},
        },
        env_steps=51_200,
        reach=8,
        peer="MaskablePPO",
        at_least=7.2,
        without={"env_kwargs": {"masked": False}},
        without_at_most=6.0,  # of 8: a policy finds some open doors by itself
    ),
    "table": Task(
        env={"env_id": TABLE, **_OURS},
        settings={
            **_CLASSIC,
            **{"n_envs": 16, "n_steps": 64, "batch_size": 256, "n_epochs": 8, "gamma": 0.5, "gae_lambda": 0.95},
            **{"learning_rate": 2e-3, "lr_schedule": "linear", "ent_coef": 0.0},
        },
        env_steps=102_400,
        reach=15,  # from chance, 5, to 20
        at_least=19,
    ),
    "frozenlake": Task(
        env={"env_id": "FrozenLake-v1", "env_kwargs": {"is_slippery": False}},
        settings={
            **_CLASSIC,
            **{"n_envs": 16, "n_steps": 64, "batch_size": 256, "n_epochs": 8, "gamma": 0.95, "gae_lambda": 0.95},
            **{"learning_rate": 2e-3, "lr_schedule": "linear", "ent_coef": 0.01},
        },
        env_steps=51_200,
        reach=1,
        episodes=10,  # the lake and the likeliest actions are always the same
        at_least=1,
    ),
    "lantern-features": Task(
        env={"game": "lantern", "observation": "features"},
        settings={**_LANTERN, "batch_size": 256, "hidden": (128, 128), "activation": "tanh"},
        env_steps=303_104,
        reach=1,
        score="success",
        deterministic=False,
    ),
    "lantern-pixels": Task(
        env={"game": "lantern", "observation": "pixels"},
        settings={**_LANTERN, "batch_size": 512, "cnn": "small"},
        env_steps=122_880,  # too few for success: the return tells how far each came
        reach=15,
        deterministic=False,
    ),
}
