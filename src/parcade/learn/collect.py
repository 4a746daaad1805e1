"""From a pool to a rollout.

A small policy plays beside the envs, in the workers, and the trainer looks at the whole stretch afterwards. Any other
acts here: act, send, receive, group by group, so that emulation and inference overlap.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError
from parcade.learn.player import CategoricalPlayer, check_possible
from parcade.learn.policy import Policy
from parcade.learn.rollout import Array, Episode, Rollout
from parcade.pool.protocol import Pool, StepRows, StretchRows

# Matrix kernels treat one to three rows by another road than many; from four rows on a row's result does not depend
# on its neighbours, and the learner finds the very log probabilities that were stored while collecting.
_FEWEST_ROWS = 4
_MANY_ROWS = 1024


class _Cut(NamedTuple):
    """An episode cut at step t: where its future is worth what the policy says of its final observation."""

    t: int
    slot: int
    final: dict[str, Array]
    state: Tensor


class Collector:
    """Fills a rollout from a pool; between two rollouts no step is under way."""

    def __init__(self, pool: Pool, policy: Policy, rollout: Rollout, noise: torch.Generator) -> None:
        self._pool, self._policy, self._rollout, self._noise = pool, policy, rollout, noise
        self._parts = [slice(group, pool.n_envs, pool.n_groups) for group in range(pool.n_groups)]
        self._slots = [np.arange(pool.n_envs)[part] for part in self._parts]
        self._device = next(policy.parameters()).device
        self._values_apart, self._player = policy.values_apart, policy.player()
        if self._player is not None:
            pool.make_room(self._player, rollout.n_steps)
        self._states, rollout.states = policy.initial_state(pool.n_envs), policy.initial_state(pool.n_envs)
        self._actions, self._log_probs = rollout.actions.numpy(), rollout.log_probs.numpy()

    def recurrent_state(self) -> Tensor:
        """Return every slot's memory between two rollouts, (n_envs, state_size)."""
        return self._states.clone()

    def load_recurrent_state(self, states: Tensor) -> None:
        """Go back to what ``recurrent_state`` returned."""
        if states.shape != self._states.shape:
            raise ModelFileError(
                f"the checkpoint holds memory of shape {tuple(states.shape)}, wanted {tuple(self._states.shape)}"
            )
        self._states.copy_(states)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint needs; empty for a policy without memory."""
        return {"recurrent": self.recurrent_state()} if self._policy.state_size else {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        if self._policy.state_size:
            self.load_recurrent_state(state.get("recurrent", torch.zeros(0)))

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Take T steps in every slot; on return the rollout is complete up to the values of final observations."""
        rollout = self._rollout
        rollout.episodes, rollout.env_s, rollout.inference_s = [], 0.0, 0.0
        rollout.states.copy_(self._states)
        self._policy.prepare()
        cut: list[_Cut] = []
        if self._player is None:
            self._act_here(cut)
        else:
            self._act_in_workers(self._player, cut)
        started = time.perf_counter()
        self._value_ends(cut)
        rollout.inference_s += time.perf_counter() - started
        return rollout

    def _act_here(self, cut: list[_Cut]) -> None:
        pool, rollout = self._pool, self._rollout
        for group in range(pool.n_groups):
            self._store_observation(0, group, pool.observations(group))
            self._act_and_send(0, group)
        for t in range(rollout.n_steps):
            for group in range(pool.n_groups):
                started = time.perf_counter()
                rows = pool.recv(group)
                rollout.env_s += time.perf_counter() - started
                self._store_step(t, group, rows, cut)
                self._store_observation(t + 1, group, rows.obs)
                if t + 1 < rollout.n_steps:
                    self._act_and_send(t + 1, group)

    def _act_in_workers(self, player: CategoricalPlayer, cut: list[_Cut]) -> None:
        rollout, started = self._rollout, time.perf_counter()
        seed = int(torch.randint(1 << 62, (), generator=self._noise))
        rows = self._pool.play(player, self._policy.player_weights(), seed, rollout.n_steps)
        rollout.env_s = time.perf_counter() - started
        for name, array in rollout.obs.items():
            array[:] = rows.obs[name]
        (choices,) = rows.actions.values()
        np.subtract(choices, player.start, out=self._actions)
        rollout.rewards[:], rollout.terminated[:], rollout.truncated[:] = rows.reward, rows.terminated, rows.truncated
        for t, slot in np.argwhere(rollout.ended):
            self._store_end(int(t), int(slot), rows, (t, slot), cut)

    def _store_observation(self, t: int, group: int, rows: Mapping[str, Array]) -> None:
        part, slots = self._parts[group], self._slots[group]
        for name, array in self._rollout.obs.items():
            array[t, part] = rows[name]
            if name == self._policy.mask_leaf:
                masks = array[t, part].reshape(len(slots), -1)
                check_possible(self._policy.distribution.possible(masks), slots, name)

    def _act_and_send(self, t: int, group: int) -> None:
        started = time.perf_counter()
        rollout, part = self._rollout, self._parts[group]
        observation = {name: tensor[t, part] for name, tensor in rollout.obs_tensors.items()}
        params, values, after = self._infer(observation, self._states[part], with_values=not self._values_apart)
        if self._policy.state_size:
            self._states[part] = after
        actions, log_probs = self._policy.distribution.draw(params, self._noise)
        self._actions[t, part] = actions.numpy()
        self._log_probs[t, part] = log_probs.numpy()
        if values is not None:
            rollout.values[t, part] = values.numpy()
        rollout.inference_s += time.perf_counter() - started
        self._pool.send(self._policy.distribution.to_env(actions), group)

    def _infer(
        self, observation: Mapping[str, Tensor], states: Tensor, with_values: bool = True
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Run the policy on its device; noise and storage stay on the CPU, so that numbers do not depend on it."""
        rows = len(states)
        if rows < _FEWEST_ROWS:
            observation = {name: _padded(tensor) for name, tensor in observation.items()}
            states = _padded(states)
        if self._device.type != "cpu":
            observation = {name: tensor.to(self._device, non_blocking=True) for name, tensor in observation.items()}
            states = states.to(self._device)
        params, values, after = self._policy.step(observation, states, with_values)
        return params.cpu()[:rows], None if values is None else values.cpu()[:rows], after.cpu()[:rows]

    def _store_step(self, t: int, group: int, rows: StepRows, cut: list[_Cut]) -> None:
        rollout, part = self._rollout, self._parts[group]
        rollout.rewards[t, part] = rows.reward
        rollout.terminated[t, part] = rows.terminated
        rollout.truncated[t, part] = rows.truncated
        ended = rows.terminated | rows.truncated
        if not ended.any():
            return
        for row in np.flatnonzero(ended):
            self._store_end(t, int(self._slots[group][row]), rows, row, cut)

    def _store_end(self, t: int, slot: int, rows: StepRows | StretchRows, at: Any, cut: list[_Cut]) -> None:
        """Keep an episode that ended; what is said of it stands in row ``at``."""
        metrics = dict(zip(self._pool.metric_names, (float(m) for m in rows.metrics[at]), strict=True))
        terminated = bool(rows.terminated[at])
        total, length = float(rows.episode_return[at]), int(rows.episode_length[at])
        self._rollout.episodes.append(Episode(slot, t, total, length, terminated, metrics))
        if not terminated:
            final = {name: array[at].copy() for name, array in rows.final.items()}
            cut.append(_Cut(t, slot, final, self._states[slot].clone()))
        self._states[slot] = 0

    def _value_ends(self, cut: list[_Cut]) -> None:
        """Value the observations after the last step, and those at which episodes were cut."""
        rollout = self._rollout
        if self._values_apart:
            self._value_rollout()
        else:
            last = {name: tensor[rollout.n_steps] for name, tensor in rollout.obs_tensors.items()}
            rollout.values[rollout.n_steps] = self._values(last, self._states)
        rollout.final_values[:] = 0
        if cut:
            finals: dict[str, Tensor] = {}
            for name, array in rollout.obs.items():
                stacked: Array = np.stack([end.final[name] for end in cut]).astype(array.dtype, copy=False)
                finals[name] = torch.from_numpy(stacked)
            values = self._values(finals, torch.stack([end.state for end in cut]))
            for end, value in zip(cut, values, strict=True):
                rollout.final_values[end.t, end.slot] = value

    def _values(self, observation: Mapping[str, Tensor], states: Tensor) -> Array:
        values = self._infer(observation, states)[1]
        assert values is not None
        return values.numpy()

    def _value_rollout(self) -> None:
        """Value every observation of the rollout, the last ones too, many rows at a time.

        What was chosen in the workers gets its log probabilities here, by the network that learns.
        """
        values = torch.from_numpy(self._rollout.values).flatten()
        flat = {name: tensor.flatten(0, 1) for name, tensor in self._rollout.obs_tensors.items()}
        for first in range(0, len(values), _MANY_ROWS):
            part = slice(first, first + _MANY_ROWS)
            rows = {name: tensor[part].to(self._device) for name, tensor in flat.items()}
            if self._player is None:
                values[part] = self._policy.values(rows).cpu()
            else:
                params, found = self._policy(rows)
                values[part] = found.cpu()
                self._log_choices(part, params.cpu())

    def _log_choices(self, part: slice, params: Tensor) -> None:
        actions, log_probs = self._rollout.actions.flatten(0, 1)[part], self._rollout.log_probs.flatten()[part]
        log_probs.copy_(self._policy.distribution.log_prob(params[: len(actions)], actions))


def _padded(rows: Tensor) -> Tensor:
    """Return at least four rows, the last one repeated."""
    return torch.cat([rows, rows[-1:].expand(_FEWEST_ROWS - len(rows), *rows.shape[1:])])
