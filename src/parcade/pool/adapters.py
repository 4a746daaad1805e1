"""A pool as Gymnasium and Stable-Baselines3 know vector envs; ``Sb3VecEnv`` is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from parcade.env.action_batches import batched
from parcade.env.slot import leaves, read_leaves
from parcade.errors import SettingsError
from parcade.pool.actions import ActionWriter
from parcade.pool.actor import Array
from parcade.pool.infos import Info, StepInfos, episode_summary, final_observation
from parcade.pool.pool import Pool

if TYPE_CHECKING:
    from parcade.pool.sb3_adapter import Sb3VecEnv

__all__ = ["GymnasiumVectorEnv", "Sb3VecEnv"]
Step = tuple[Any, Array, Array, Array, Info]


def __getattr__(name: str) -> Any:
    if name == "Sb3VecEnv":
        from parcade.pool.sb3_adapter import Sb3VecEnv

        return Sb3VecEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class GymnasiumVectorEnv(VectorEnv[Any, Any, Any]):
    """A pool as a ``gymnasium.vector.VectorEnv``; closing it closes the pool.

    ``SAME_STEP``: episodes begin again in the step that ends them; that step's infos hold ``final_obs`` and
    ``final_info`` under their masks. ``NEXT_STEP``: they begin in the step after, whose action is not used and whose
    reward is 0; the pool needs ``n_groups=n_envs``, and every step sends a message to each env.
    The info an episode ends with also holds episode_return, episode_length and the env's metrics. ``infos=False``
    leaves the envs' own infos out, and with them a message to each worker a step.
    """

    def __init__(
        self, pool: Pool, *, autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP, infos: bool = True
    ) -> None:
        self.pool, self.num_envs, self.autoreset_mode = pool, pool.n_envs, autoreset_mode
        if autoreset_mode is AutoresetMode.SAME_STEP:
            check_one_group(pool)
        elif autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise SettingsError(f"autoreset_mode is {autoreset_mode!r}, wanted SAME_STEP or NEXT_STEP")
        elif pool.n_groups != pool.n_envs:
            raise SettingsError(f"the pool has n_groups={pool.n_groups}, NEXT_STEP needs n_groups={pool.n_envs}")
        self.single_observation_space, self.single_action_space = pool.observation_space, pool.action_space
        self.observation_space = batch_space(pool.observation_space, pool.n_envs)
        self.action_space = batch_space(pool.action_space, pool.n_envs)
        self.metadata = {**pool.call(0, "get", "metadata"), "autoreset_mode": autoreset_mode}
        self.render_mode = pool.call(0, "get", "render_mode")
        self._infos = StepInfos(pool, infos)
        self._ended = np.zeros(pool.n_envs, np.bool_)  # NEXT_STEP: where the next step only begins an episode
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Begin an episode in every slot, with these reset options.

        ``seed`` is the run seed all slots' seeds are made of, or a list with the seed of each slot's first episode.
        Without one the slots go on to their next episodes.
        """
        if options is not None and "reset_mask" in options:
            raise SettingsError("options hold 'reset_mask', but a pool begins all its slots together; leave it out")
        each = None if not options else [options] * self.num_envs
        self.pool.reset(seed, onward=self._begun and seed is None, options=each)
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        self._begun = True
        self._ended[:] = False
        infos: Info = {}
        for slot, (info, _) in enumerate(self._infos.fetch()):
            infos = self._add_info(infos, info, slot)
        return self._present(), infos

    def step(self, actions: Any) -> Step:
        """Take one step in every slot."""
        actions = batched(self.single_action_space, actions, self.num_envs)
        return self._same_step(actions) if self.autoreset_mode is AutoresetMode.SAME_STEP else self._next_step(actions)

    def _same_step(self, actions: Any) -> Step:
        self.pool.send(actions)
        rows = self.pool.recv()
        observation, ended = self._present(), rows.terminated | rows.truncated
        infos: Info = {}
        for slot, (info, final) in enumerate(self._infos.fetch()):
            if ended[slot]:
                final = {**episode_summary(self.pool, rows, slot), **final}
                seen = final_observation(self.pool, rows, slot)
                infos = self._add_info(infos, {"final_obs": seen, "final_info": final}, slot)
            infos = self._add_info(infos, info, slot)
        return observation, rows.reward.copy(), rows.terminated.copy(), rows.truncated.copy(), infos

    def _next_step(self, actions: Any) -> Step:
        """Step the slots whose episode goes on, each as a group of its own; the others show what they began with."""
        chosen, stepping = self._written(actions), np.flatnonzero(~self._ended).tolist()
        for slot in stepping:
            one = {leaf: rows[slot : slot + 1] for leaf, rows in chosen.items()}
            self.pool.send(read_leaves(self.single_action_space, one), slot)
        results = {slot: self.pool.recv(slot) for slot in stepping}
        reward = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        observation, infos = self._present_rows(), Info()
        for slot, (info, final) in enumerate(self._infos.fetch()):
            if (rows := results.get(slot)) is not None:
                reward[slot], terminated[slot], truncated[slot] = rows.reward[0], rows.terminated[0], rows.truncated[0]
                if terminated[slot] or truncated[slot]:
                    info = {**episode_summary(self.pool, rows, 0), **final}
                    for leaf, array in observation.items():
                        array[slot] = rows.final[leaf][0]
            infos = self._add_info(infos, info, slot)
        self._ended = terminated | truncated
        return read_leaves(self.single_observation_space, observation), reward, terminated, truncated, infos

    def _written(self, actions: Any) -> dict[str, Array]:
        """Return the actions by leaf name, checked before the first one is sent."""
        kinds = leaves(self.single_action_space).items()
        rows: dict[str, Array] = {leaf: np.zeros((self.num_envs, *shape), dtype) for leaf, (shape, dtype) in kinds}
        ActionWriter(self.single_action_space).write_given(actions, rows)
        return rows

    def _present_rows(self) -> dict[str, Array]:
        """Return copies of all slots' present observations: the pool writes the same rows next time."""
        groups = [self.pool.observations(group) for group in range(self.pool.n_groups)]
        return {leaf: np.concatenate([group[leaf] for group in groups]) for leaf in groups[0]}

    def _present(self) -> Any:
        return read_leaves(self.single_observation_space, self._present_rows())

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every env, or get an attribute where ``name`` is none."""
        what = "call" if args or kwargs else "value"
        return tuple(self.pool.call_all(range(self.num_envs), what, name, *args, **kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every env."""
        return tuple(self.pool.call_all(range(self.num_envs), "get", name))

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute in every env: a list or tuple holds one value per slot."""
        each = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise SettingsError(f"set_attr got {len(each)} values for {self.num_envs} slots")
        for slot, value in enumerate(each):
            self.pool.call(slot, "set", name, value)

    def render(self) -> tuple[Any, ...] | None:
        """Return a picture of every env; the pool needs ``render=True``."""
        return tuple(self.pool.call_all(range(self.num_envs), "call", "render"))

    def close_extras(self, **_: Any) -> None:
        """Close the pool."""
        self.pool.close()


def check_one_group(pool: Pool) -> None:
    """Refuse a pool of several groups: all slots are stepped together."""
    if pool.n_groups != 1:
        raise SettingsError(f"the pool has {pool.n_groups} groups, an adapter needs n_groups=1")
