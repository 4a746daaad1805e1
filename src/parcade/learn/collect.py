"""From a pool to a rollout: act, send, receive, group by group, so that emulation and inference overlap."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parcade.learn.policy import Policy
from parcade.learn.rollout import Array, Episode, Rollout
from parcade.pool.protocol import Pool, StepRows


class Collector:
    """Fills a rollout from a pool; between two rollouts no step is under way."""

    def __init__(self, pool: Pool, policy: Policy, rollout: Rollout, noise: torch.Generator) -> None:
        self._pool, self._policy, self._rollout, self._noise = pool, policy, rollout, noise
        self._parts = [slice(group, pool.n_envs, pool.n_groups) for group in range(pool.n_groups)]
        self._slots = [np.arange(pool.n_envs)[part] for part in self._parts]
        self._device = next(policy.parameters()).device

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Take T steps in every slot; on return the rollout is complete up to the values of final observations."""
        pool, rollout = self._pool, self._rollout
        rollout.episodes, rollout.env_s, rollout.inference_s = [], 0.0, 0.0
        cut: list[tuple[int, int, dict[str, Array]]] = []
        for group, part in enumerate(self._parts):
            self._store_observation(0, part, pool.observations(group))
            self._act_and_send(0, group)
        for t in range(rollout.n_steps):
            for group, part in enumerate(self._parts):
                started = time.perf_counter()
                rows = pool.recv(group)
                rollout.env_s += time.perf_counter() - started
                self._store_step(t, group, rows, cut)
                self._store_observation(t + 1, part, rows.obs)
                if t + 1 < rollout.n_steps:
                    self._act_and_send(t + 1, group)
        started = time.perf_counter()
        self._value_ends(cut)
        rollout.inference_s += time.perf_counter() - started
        return rollout

    def _store_observation(self, t: int, part: slice, rows: Mapping[str, Array]) -> None:
        for name, array in self._rollout.obs.items():
            array[t, part] = rows[name]

    def _act_and_send(self, t: int, group: int) -> None:
        started = time.perf_counter()
        rollout, part = self._rollout, self._parts[group]
        params, values = self._infer({name: tensor[t, part] for name, tensor in rollout.obs_tensors.items()})
        distribution = self._policy.distribution
        actions = distribution.sample(params, self._noise)
        rollout.actions[t, part] = actions
        rollout.log_probs[t, part] = distribution.log_prob(params, actions)
        rollout.values[t, part] = values.numpy()
        rollout.inference_s += time.perf_counter() - started
        self._pool.send(distribution.to_env(actions), group)

    def _infer(self, observation: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Run the policy on its device; noise and storage stay on the CPU, so that numbers do not depend on it."""
        params, values = self._policy({name: tensor.to(self._device) for name, tensor in observation.items()})
        return params.cpu(), values.cpu()

    def _store_step(self, t: int, group: int, rows: StepRows, cut: list[tuple[int, int, dict[str, Array]]]) -> None:
        rollout, part = self._rollout, self._parts[group]
        rollout.rewards[t, part] = rows.reward
        rollout.terminated[t, part] = rows.terminated
        rollout.truncated[t, part] = rows.truncated
        ended = rows.terminated | rows.truncated
        if not ended.any():
            return
        for row in np.flatnonzero(ended):
            slot = int(self._slots[group][row])
            metrics = dict(zip(self._pool.metric_names, (float(m) for m in rows.metrics[row]), strict=True))
            terminated = bool(rows.terminated[row])
            total, length = float(rows.episode_return[row]), int(rows.episode_length[row])
            rollout.episodes.append(Episode(slot, t, total, length, terminated, metrics))
            if not terminated:
                cut.append((t, slot, {name: array[row].copy() for name, array in rows.final.items()}))

    def _value_ends(self, cut: list[tuple[int, int, dict[str, Array]]]) -> None:
        """Value the observations after the last step, and those at which episodes were cut."""
        rollout = self._rollout
        last = {name: tensor[rollout.n_steps] for name, tensor in rollout.obs_tensors.items()}
        rollout.values[rollout.n_steps] = self._infer(last)[1].numpy()
        rollout.final_values[:] = 0
        if cut:
            finals: dict[str, Tensor] = {}
            for name, array in rollout.obs.items():
                stacked: Any = np.stack([final[name] for _, _, final in cut]).astype(array.dtype, copy=False)
                finals[name] = torch.from_numpy(stacked)
            values = self._infer(finals)[1].numpy()
            for (t, slot, _), value in zip(cut, values, strict=True):
                rollout.final_values[t, slot] = value
