"""A block as the learner sees it: tensors over the same memory, and what the learner computes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from parcade.learn.block_part import BlockPart
from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor, padded
from parcade.pool.block import Block

_MANY_ROWS = 1024


class Rollout:
    """Arrays (T, N, ...) under one policy; observations are (T + 1, N, ...) and keep their dtype."""

    def __init__(self, block: Block | BlockPart) -> None:
        self.block, self.n_steps, self.n_envs = block, block.n_steps, block.n_envs
        self.obs: dict[str, Tensor] = {name: as_tensor(array) for name, array in block.obs.items()}
        self.actions = torch.from_numpy(block.drawn)
        with np.errstate(over="ignore"):  # told as losses that are no numbers
            self.rewards: npt.NDArray[np.float32] = block.reward.astype(np.float32)
        self.terminated, self.truncated = block.terminated, block.truncated
        self.ended = block.ended
        self.states = torch.from_numpy(block.memory[0])  # the policy's memory before step 0
        shape = block.n_steps, block.n_envs
        self.values = np.zeros((block.n_steps + 1, block.n_envs), np.float32)
        self.final_values = np.zeros(shape, np.float32)  # where an episode was cut: what its future is worth
        self.log_probs, self.advantages, self.returns = (torch.zeros(shape) for _ in range(3))

    @property
    def env_steps(self) -> int:
        """Steps the rollout holds, summed over slots."""
        return self.block.env_steps

    def starts(self) -> Tensor:
        """(T, N): where an episode begins after step 0; the memory before step 0 stands in ``states``."""
        starts = np.zeros((self.n_steps, self.n_envs), np.bool_)
        starts[1:] = self.ended[:-1]
        return torch.from_numpy(starts)

    def flat(self) -> dict[str, Tensor]:
        """Return the observations before each step as (T * N, ...) without copying."""
        return {name: tensor[:-1].flatten(0, 1) for name, tensor in self.obs.items()}


@torch.inference_mode()
def agrees_with_actors(policy: Policy, rollout: Rollout, n_rows: int) -> bool:
    """Whether the learner's first minibatch comes to the very parameters and values that the actors wrote.

    Kernels choose their way by the number of rows and threads, not by the data, so one look tells of all minibatches.
    """
    block = rollout.block
    if not len(block.value):
        return False
    rows = {name: tensor[:n_rows].to(policy.device) for name, tensor in rollout.flat().items()}
    params, values = policy(rows)
    written = torch.from_numpy(block.params).flatten(0, 1)[:n_rows], torch.from_numpy(block.value).flatten()[:n_rows]
    return torch.equal(params.cpu(), written[0]) and torch.equal(values.cpu(), written[1])


@torch.inference_mode()
def evaluate_rollout(
    policy: Policy, rollout: Rollout, *, trusts_actors: bool, beat: Callable[[], None] = lambda: None
) -> None:
    """Fill in values and log probabilities; those of the actors where they are the learner's own, to the bit.

    ``beat`` is called now and then.
    """
    if trusts_actors:
        _take_over(policy, rollout, beat)
    else:
        _compute(policy, rollout, beat)
    _value_cuts(policy, rollout)


def _take_over(policy: Policy, rollout: Rollout, beat: Callable[[], None]) -> None:
    block, last = rollout.block, rollout.n_steps
    if len(block.value):
        rollout.values[:last] = block.value
    else:
        _compute(policy, rollout, beat)
    memory = torch.from_numpy(block.memory[last] * ~rollout.ended[-1][:, None])
    rollout.values[last] = _values(policy, {name: tensor[last] for name, tensor in rollout.obs.items()}, memory)
    params = torch.from_numpy(block.params).flatten(0, 1)
    log_probs, _ = policy.distribution.evaluate(params, rollout.actions.flatten(0, 1))
    rollout.log_probs.copy_(log_probs.view_as(rollout.log_probs))


def _compute(policy: Policy, rollout: Rollout, beat: Callable[[], None]) -> None:
    """Run the network over every observation of the rollout, the last ones too, many rows at a time."""
    values, log_probs = torch.from_numpy(rollout.values).flatten(), rollout.log_probs.flatten()
    actions = rollout.actions.flatten(0, 1)
    flat = {name: tensor.flatten(0, 1) for name, tensor in rollout.obs.items()}
    for first in range(0, len(values), _MANY_ROWS):
        beat()
        part = slice(first, min(first + _MANY_ROWS, len(values)))
        rows = {name: padded(tensor[part]).to(policy.device) for name, tensor in flat.items()}
        params, found = policy(rows)
        values[part] = found[: part.stop - part.start].cpu()
        chosen = actions[part]
        if len(chosen):
            log_probs[part] = policy.distribution.evaluate(params[: len(chosen)].cpu(), chosen)[0]


def _value_cuts(policy: Policy, rollout: Rollout) -> None:
    """Value the observations at which episodes were cut."""
    block = rollout.block
    cuts = np.argwhere(rollout.truncated & ~rollout.terminated)
    if not len(cuts):
        return
    finals = [block.final_of(int(t), int(slot)) for t, slot in cuts]
    seen = {name: as_tensor(np.stack([final[name] for final in finals])) for name in block.obs}
    memory = torch.from_numpy(np.stack([block.memory[t + 1, slot] for t, slot in cuts]))
    rollout.final_values[cuts[:, 0], cuts[:, 1]] = _values(policy, seen, memory)


def _values(policy: Policy, seen: Mapping[str, Tensor], memory: Tensor) -> npt.NDArray[np.float32]:
    n_rows, device = len(memory), policy.device
    rows = {name: padded(tensor).to(device) for name, tensor in seen.items()}
    found: npt.NDArray[np.float32] = policy.step(rows, padded(memory).to(device))[1][:n_rows].cpu().numpy()
    return found
