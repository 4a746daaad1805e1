"""A pool as Gymnasium and Stable-Baselines3 know vector envs; ``Sb3VecEnv`` is imported only when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from parcade.env.slot import read_leaves
from parcade.errors import SettingsError
from parcade.pool.actor import Array
from parcade.pool.pool import Pool
from parcade.pool.progress import StepRows

if TYPE_CHECKING:
    from parcade.pool.sb3_adapter import Sb3VecEnv

__all__ = ["GymnasiumVectorEnv", "Sb3VecEnv"]


def __getattr__(name: str) -> Any:
    if name == "Sb3VecEnv":
        from parcade.pool.sb3_adapter import Sb3VecEnv

        return Sb3VecEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class GymnasiumVectorEnv(VectorEnv[Any, Any, Any]):
    """A pool with one group as a ``gymnasium.vector.VectorEnv``; closing it closes the pool.

    Episodes begin again in the step that ends them; that step's ``infos`` hold ``final_obs`` and ``final_info``
    (episode_return, episode_length and the game's metrics) under their masks ``_final_obs`` and ``_final_info``.
    """

    def __init__(self, pool: Pool) -> None:
        check_one_group(pool)
        self.pool, self.num_envs = pool, pool.n_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": ["rgb_array"]}
        self.single_observation_space, self.single_action_space = pool.observation_space, pool.action_space
        self.observation_space = batch_space(pool.observation_space, pool.n_envs)
        self.action_space = batch_space(pool.action_space, pool.n_envs)
        self.render_mode = self.call("render_mode")[0]
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every slot; ``seed`` is the run seed all slots' seeds are made of.

        Without a seed the slots go on to their next episodes.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            raise SettingsError(f"seed is {seed!r}, wanted one int: every slot's own seed is made of it")
        if options:
            raise SettingsError(f"options {sorted(options)} cannot be handed to the envs of a pool")
        super().reset(seed=seed)
        self.pool.reset(None if seed is None else int(seed), onward=self._begun and seed is None)
        self._begun = True
        return self._observation(self.pool.observations(0)), {}

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Take one step in every slot."""
        self.pool.send(actions)
        rows = self.pool.recv()
        observation = self._observation(rows.obs)
        infos: dict[str, Any] = {}
        for slot in np.flatnonzero(rows.terminated | rows.truncated):
            infos = self._add_info(infos, self._end_of(rows, int(slot)), int(slot))
        return observation, rows.reward.copy(), rows.terminated.copy(), rows.truncated.copy(), infos

    def _observation(self, rows: Any) -> Any:
        copies = {leaf: array.copy() for leaf, array in rows.items()}  # the pool writes the same rows next time
        return read_leaves(self.single_observation_space, copies)

    def _end_of(self, rows: StepRows, slot: int) -> dict[str, Any]:
        return {
            "final_obs": final_observation(self.pool, rows, slot),
            "final_info": episode_summary(self.pool, rows, slot),
        }

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every env, or get an attribute where ``name`` is none."""
        slots = range(self.num_envs)
        if args or kwargs:
            return tuple(self.pool.call(slot, "call", name, *args, **kwargs) for slot in slots)
        return tuple(self.pool.call(slot, "value", name) for slot in slots)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every env."""
        return tuple(self.pool.call(slot, "get", name) for slot in range(self.num_envs))

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute in every env: a list or tuple holds one value per slot."""
        each = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise SettingsError(f"set_attr got {len(each)} values for {self.num_envs} slots")
        for slot, value in enumerate(each):
            self.pool.call(slot, "set", name, value)

    def render(self) -> tuple[Any, ...] | None:
        """Return a picture of every env; the pool needs ``render=True``."""
        return tuple(self.pool.call(slot, "call", "render") for slot in range(self.num_envs))

    def close_extras(self, **_: Any) -> None:
        """Close the pool."""
        self.pool.close()


def check_one_group(pool: Pool) -> None:
    """Refuse a pool of several groups: the adapters step all slots together."""
    if pool.n_groups != 1:
        raise SettingsError(f"the pool has {pool.n_groups} groups, an adapter needs n_groups=1")


def final_observation(pool: Pool, rows: StepRows, slot: int) -> Any:
    """Return the last observation of the episode that just ended in ``slot``, as the env itself would have."""
    return read_leaves(pool.observation_space, {leaf: _owned(array[slot]) for leaf, array in rows.final.items()})


def _owned(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def episode_summary(pool: Pool, rows: StepRows, slot: int) -> dict[str, Any]:
    """Return return, length and metrics of the episode that just ended in ``slot``."""
    metrics = dict(zip(pool.metric_names, (float(value) for value in rows.metrics[slot]), strict=True))
    summary = {"episode_return": float(rows.episode_return[slot]), "episode_length": int(rows.episode_length[slot])}
    return summary | metrics
