"""A pool as a Stable-Baselines3 ``VecEnv``; importing this file imports Stable-Baselines3 and torch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from parcade.env.action_batches import batched
from parcade.env.slot import read_leaves
from parcade.errors import MissingExtraError, SettingsError
from parcade.pool.actor import Array
from parcade.pool.adapters import check_one_group
from parcade.pool.infos import Info, StepInfos, episode_summary, final_observation
from parcade.pool.pool import Pool
from parcade.pool.progress import StepRows

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtraError("Stable-Baselines3 is not installed; install it with: pip install 'parcade[sb3]'") from None

Indices = int | Iterable[int] | None


class Sb3VecEnv(VecEnv):
    """A pool with one group as SB3 takes it; closing it closes the pool.

    ``infos`` are the envs' own. Where an episode ended they also hold ``terminal_observation`` and, unless a Monitor in
    the env has written it, ``episode`` (r, l, t), so that SB3 logs ep_rew_mean without a wrapper. ``infos=False``
    leaves the envs' own out, and with them a message to each worker a step.
    """

    def __init__(self, pool: Pool, *, infos: bool = True) -> None:
        check_one_group(pool)
        self.pool, self._infos = pool, StepInfos(pool, infos)
        self._started_s = time.monotonic()
        self._begun = False
        super().__init__(pool.n_envs, pool.observation_space, pool.action_space)
        self.metadata = {**pool.call(0, "get", "metadata"), **self.metadata}

    def reset(self) -> Any:
        """Begin an episode in every slot: with the seeds and options given before, or else each slot's next one."""
        seeds = [seed for seed in self._seeds if seed is not None] or None
        options = self._options if any(self._options) else None
        self._reset_seeds()
        self._reset_options()
        self.pool.reset(seeds, onward=self._begun and seeds is None, options=options)
        self._begun = True
        self.reset_infos = [info for info, _ in self._infos.fetch()]
        return self._observation(self.pool.observations(0))

    def step_async(self, actions: Any) -> None:
        """Hand the actions over, one for each env, and return at once."""
        self.pool.send(batched(self.action_space, actions, self.num_envs, prefers_each=True))

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Wait for the step of all slots."""
        rows = self.pool.recv()
        dones = rows.terminated | rows.truncated
        observation, rewards = self._observation(rows.obs), rows.reward.astype(np.float32)
        told = self._infos.fetch()
        infos = [final if done else info for done, (info, final) in zip(dones, told, strict=True)]
        for slot, info in enumerate(infos):
            info["TimeLimit.truncated"] = bool(rows.truncated[slot] and not rows.terminated[slot])
            if dones[slot]:
                self.reset_infos[slot] = told[slot][0]
                info["terminal_observation"] = final_observation(self.pool, rows, slot)
                info.setdefault("episode", self._episode(rows, slot))
        return observation, rewards, dones, infos

    def _episode(self, rows: StepRows, slot: int) -> Info:
        """Return what Monitor would have written of an episode, and the env's metrics."""
        summary = episode_summary(self.pool, rows, slot)
        total, length = summary.pop("episode_return"), summary.pop("episode_length")
        return {"r": total, "l": length, "t": round(time.monotonic() - self._started_s, 6), **summary}

    def _observation(self, rows: Any) -> Any:
        # SB3 keeps the last observation over the next step, and the pool writes into the same rows: copy.
        return read_leaves(self.observation_space, {leaf: array.copy() for leaf, array in rows.items()})

    def close(self) -> None:
        """Close the pool."""
        self.pool.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of the envs."""
        return self.pool.call_all(self._slots(indices), "get", attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Return whether all envs have an attribute or method; nothing but the answer is sent."""
        return all(self.pool.call_all(range(self.num_envs), "has", attr_name))

    def _slots(self, indices: Indices) -> list[int]:
        """Return the slots of ``indices``; negative ones count from the end."""
        chosen, n_envs = [int(index) for index in self._get_indices(indices)], self.num_envs
        for index in chosen:
            if not -n_envs <= index < n_envs:
                raise SettingsError(f"an env's index is {index}, wanted {-n_envs} to {n_envs - 1}")
        return [index % n_envs for index in chosen]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute in the envs."""
        self.pool.call_all(self._slots(indices), "set", attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the envs."""
        return self.pool.call_all(self._slots(indices), "call", method_name, *method_args, **method_kwargs)

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Return for each env whether such a wrapper is on it."""
        return self.pool.call_all(self._slots(indices), "wrapped", "", wrapper_class)

    def get_images(self) -> Sequence[Array | None]:
        """Return a picture of each env; the pool needs ``render=True``."""
        return self.env_method("render") if self.render_mode == "rgb_array" else [None] * self.num_envs
