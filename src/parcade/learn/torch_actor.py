"""The policy itself beside the envs, for pictures and memory: one definition of the network acts and learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from parcade.learn.encoders import LeafShape
from parcade.learn.flat import bind, flat_size
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.rows import FEWEST_ROWS, as_tensor, padded
from parcade.learn.sampling import Array, EpisodeNoise, Sampler, check_possible, sampler_for
from parcade.pool.actor import ActorRows, ActorShape, Choose


@dataclass(frozen=True, eq=False)
class TorchActor:
    """Builds the network where it acts; its weights are the block's, without a copy."""

    leaves: Mapping[str, LeafShape]
    action_space: spaces.Space[Any]
    net: NetSettings
    in_bfloat16: bool = False
    deterministic: bool = False
    _built: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.leaves.items()), self.action_space, self.net, self.in_bfloat16, self.deterministic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchActor) and self._key() == other._key()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_built": {}}

    @property
    def shape(self) -> ActorShape:
        """What the block has to hold."""
        policy, sampler = self._policy(), sampler_for(self.action_space, self.net.box)
        return ActorShape(
            n_weights=flat_size(policy.state_dict().values()),
            state_size=policy.state_size,
            n_params=policy.n_params,
            drawn_shape=sampler.drawn_shape,
            drawn_dtype=sampler.drawn_dtype,
            has_values=True,
        )

    def _policy(self) -> Policy:
        if "policy" not in self._built:
            policy = Policy(dict(self.leaves), self.action_space, self.net, initialise=False)
            policy.use_bfloat16(self.in_bfloat16)
            self._built["policy"] = policy
        return self._built["policy"]  # type: ignore[no-any-return]

    def prepare(self, weights: Array, seed: int, slots: range) -> Choose:
        """Return what draws the actions of these slots; the weights are looked at, not copied."""
        policy = self._policy()
        if self._built.get("weights") is not weights:
            bind(policy, torch.from_numpy(weights))
            self._built["weights"] = weights
        rows_at_once = self._built.setdefault("rows_at_once", {})
        if len(slots) not in rows_at_once:
            rows_at_once[len(slots)] = rows_treated_alike(policy, len(slots))
        return acting(policy, seed, slots, self.deterministic, rows_at_once[len(slots)])


def acting(
    policy: Policy, seed: int, slots: range, deterministic: bool = False, rows_at_once: int | None = None
) -> Choose:
    """Return what draws actions with ``policy``, on whatever device it is."""
    sampler: Sampler = sampler_for(policy.action_space, policy.net.box)
    noise = None if deterministic else EpisodeNoise(sampler, seed, len(slots))
    size, n_rows = rows_at_once or rows_treated_alike(policy, len(slots)), len(slots)
    parts = [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]

    @torch.inference_mode()
    def choose(rows: ActorRows) -> Array:
        if policy.mask_leaf is not None:
            masks = rows.obs[policy.mask_leaf].reshape(n_rows, -1)
            check_possible(sampler.possible(masks), slots, policy.mask_leaf)
        memory = np.where(rows.episode_step[:, None] == 0, np.float32(0), rows.memory)
        for part in parts:
            count = part.stop - part.start
            params, values, after = _step(policy, {name: array[part] for name, array in rows.obs.items()}, memory[part])
            rows.params[part], rows.memory_after[part] = params[:count].cpu().numpy(), after[:count].cpu().numpy()
            if len(rows.value):
                rows.value[part] = values[:count].cpu().numpy()
        drawn = sampler.draw(rows.params, None if noise is None else noise.at(rows.episode_seed, rows.episode_step))
        rows.drawn[...] = drawn
        return sampler.to_env(drawn)

    return choose


def _step(policy: Policy, obs: Mapping[str, Array], memory: Array) -> tuple[Tensor, Tensor, Tensor]:
    """Step rows, at least as many as kernels need to treat each row alike."""
    seen = {name: padded(as_tensor(array)).to(policy.device) for name, array in obs.items()}
    return policy.step(seen, padded(torch.from_numpy(memory)).to(policy.device))


@torch.inference_mode()
def rows_treated_alike(policy: Policy, n_rows: int) -> int:
    """Return ``n_rows`` if the policy gives each row of so many what it gives it among ``FEWEST_ROWS``, else these.

    A slot's numbers must not depend on how many others its worker has. Kernels choose their way by the number of rows,
    not by the data, so one try with any data tells.
    """
    random = np.random.default_rng(0)
    obs = {name: _any_rows(leaf, n_rows, random) for name, leaf in policy.leaves.items()}
    memory = random.normal(size=(n_rows, policy.state_size)).astype(np.float32)
    together = _step(policy, obs, memory)
    for first in range(0, n_rows, FEWEST_ROWS):
        part = slice(first, min(first + FEWEST_ROWS, n_rows))
        alone = _step(policy, {name: array[part] for name, array in obs.items()}, memory[part])
        count = part.stop - part.start
        if not all(torch.equal(a[part], b[:count]) for a, b in zip(together, alone, strict=True)):
            return FEWEST_ROWS
    return n_rows


def _any_rows(leaf: LeafShape, n_rows: int, random: np.random.Generator) -> Array:
    shape, dtype = (n_rows, *leaf.shape), np.dtype(leaf.dtype)
    if leaf.choices:
        return np.broadcast_to([start for _, start in leaf.choices], (n_rows, len(leaf.choices))).reshape(shape).copy()
    return (
        random.integers(1, 100, shape).astype(dtype) if dtype.kind in "iub" else random.normal(size=shape).astype(dtype)
    )
