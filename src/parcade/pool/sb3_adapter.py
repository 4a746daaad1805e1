"""A pool as a Stable-Baselines3 ``VecEnv``; importing this file imports Stable-Baselines3 and torch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from parcade.env.slot import read_leaves
from parcade.errors import MissingExtraError, SettingsError
from parcade.pool.actor import Array
from parcade.pool.adapters import check_one_group, episode_summary, final_observation
from parcade.pool.pool import Pool

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtraError("Stable-Baselines3 is not installed; install it with: pip install 'parcade[sb3]'") from None

Indices = int | Iterable[int] | None


class Sb3VecEnv(VecEnv):  # type: ignore[misc]
    """A pool with one group as SB3 takes it; closing it closes the pool.

    ``infos`` of a slot whose episode ended hold ``terminal_observation``, ``TimeLimit.truncated`` and ``episode``
    (r, l, t) as Monitor writes it, so that SB3 logs ep_rew_mean without a wrapper.
    """

    def __init__(self, pool: Pool) -> None:
        check_one_group(pool)
        self.pool = pool
        self._started_s = time.monotonic()
        self._begun = False
        super().__init__(pool.n_envs, pool.observation_space, pool.action_space)

    def reset(self) -> Any:
        """Begin an episode in every slot: those of the seed given to ``seed``, or else each slot's next one."""
        if any(self._options):
            raise SettingsError("reset options cannot be handed to the envs of a pool")
        seed = self._seeds[0]
        self.pool.reset(seed, onward=self._begun and seed is None)
        self._begun = True
        self._reset_seeds()
        return self._observation(self.pool.observations(0))

    def step_async(self, actions: Array) -> None:
        """Hand the actions over and return at once."""
        self.pool.send(actions)

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Wait for the step of all slots."""
        rows = self.pool.recv()
        dones = rows.terminated | rows.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for slot in np.flatnonzero(dones):
            summary = episode_summary(self.pool, rows, int(slot))
            total, length = summary.pop("episode_return"), summary.pop("episode_length")
            took_s = round(time.monotonic() - self._started_s, 6)
            infos[slot] = {
                "terminal_observation": final_observation(self.pool, rows, int(slot)),
                "TimeLimit.truncated": bool(rows.truncated[slot] and not rows.terminated[slot]),
                "episode": {"r": total, "l": length, "t": took_s, **summary},
            }
        return self._observation(rows.obs), rows.reward.astype(np.float32), dones, infos

    def _observation(self, rows: Any) -> Any:
        # SB3 keeps the last observation over the next step, and the pool writes into the same rows: copy.
        return read_leaves(self.observation_space, {leaf: array.copy() for leaf, array in rows.items()})

    def close(self) -> None:
        """Close the pool."""
        self.pool.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of the envs."""
        return [self.pool.call(slot, "get", attr_name) for slot in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute in the envs."""
        for slot in self._get_indices(indices):
            self.pool.call(slot, "set", attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the envs."""
        slots = self._get_indices(indices)
        return [self.pool.call(slot, "call", method_name, *method_args, **method_kwargs) for slot in slots]

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Return for each env whether such a wrapper is on it."""
        return [self.pool.call(slot, "wrapped", "", wrapper_class) for slot in self._get_indices(indices)]

    def get_images(self) -> Sequence[Array | None]:
        """Return a picture of each env; the pool needs ``render=True``."""
        return self.env_method("render") if self.render_mode == "rgb_array" else [None] * self.num_envs
