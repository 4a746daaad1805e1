"""Cloning: a policy learns to do what was done in recorded play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parcade.errors import ModelFileError, SettingsError
from parcade.learn.actors import PolicyPlays
from parcade.learn.encoders import LeafShape
from parcade.learn.flat import FlatAdam, FlatParameters
from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor
from parcade.learn.sampling import Array, sampler_for
from parcade.pool.block import Block


@dataclass(frozen=True, slots=True)
class CloningSettings:
    """The numbers cloning has in common with other algorithms."""

    learning_rate: float = 1e-3
    lr_schedule: str = "linear"
    batch_size: int = 256
    n_epochs: int = 4
    max_grad_norm: float = 0.5


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Steps of recorded play: what was seen, by leaf name, and what was done, as the sampler draws it."""

    obs: Mapping[str, Array]
    actions: Array

    def __len__(self) -> int:
        return len(self.actions)


class Cloning(PolicyPlays):
    """Raises the probability of the recorded actions; rollouts only show how far it is."""

    name = "cloning"

    def __init__(
        self,
        policy: Policy,
        settings: CloningSettings,
        demonstrations: Demonstrations,
        seed: int,
        flat: FlatParameters | None = None,
    ) -> None:
        """``flat`` are the policy's parameters in one row where another algorithm has laid them so already."""
        _check_fit(policy, demonstrations)
        super().__init__(policy)
        self._settings = settings
        self._obs = {name: as_tensor(array) for name, array in demonstrations.obs.items()}
        self._actions = torch.from_numpy(demonstrations.actions)
        self._flat = flat or FlatParameters(list(policy.parameters()))
        self._optimiser = FlatAdam(self._flat.weights, settings.learning_rate)
        self._shuffle = torch.Generator().manual_seed(seed)

    def update(self, block: Block, left: float = 1.0) -> dict[str, float]:
        """Take ``n_epochs`` passes over the demonstrations."""
        settings = self._settings
        learning_rate = settings.learning_rate * (left if settings.lr_schedule == "linear" else 1.0)
        self._optimiser.learning_rate = learning_rate
        losses, entropies = [], []
        in_epoch = -(-len(self._actions) // settings.batch_size)
        for _ in range(settings.n_epochs):
            order = torch.randperm(len(self._actions), generator=self._shuffle)
            for rows in torch.split(order, settings.batch_size):
                loss, entropy = self._descend(rows)
                losses.append(loss)
                entropies.append(entropy)
                self.while_learning(min(1.0, len(losses) / (in_epoch * settings.n_epochs)))
        return {
            "clone_loss": float(torch.stack(losses).mean()),
            "entropy": float(torch.stack(entropies).mean()),
            "learning_rate": learning_rate,
        }

    def _descend(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        device = self.policy.device
        seen = {name: tensor[rows].to(device) for name, tensor in self._obs.items()}
        params, values = self.policy(seen)
        log_probs, entropy = self.policy.distribution.evaluate(params, self._actions[rows].to(device))
        loss = -log_probs.mean()
        self._flat.gradients_of(loss + 0.0 * values.sum())  # the critic learns nothing here, but has gradients
        self._flat.clip_gradients(self._settings.max_grad_norm)
        self._optimiser.descend()
        return loss.detach(), entropy.mean().detach()

    def state(self) -> dict[str, Tensor]:
        """Return Adam's moments and the shuffle's state."""
        return {"shuffle": self._shuffle.get_state(), **self._optimiser.moments()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go back to what ``state`` returned."""
        if "shuffle" not in state:
            raise ModelFileError("the checkpoint holds no state of the shuffle")
        self._optimiser.load_moments(state)
        self._shuffle.set_state(state["shuffle"])


def check_clonable(policy: Policy) -> None:
    """Refuse a policy that cloning cannot train."""
    if policy.state_size:
        raise SettingsError("cloning needs a policy without memory; set lstm to 0")


def _check_fit(policy: Policy, demonstrations: Demonstrations) -> None:
    check_clonable(policy)
    wanted = {name: leaf.shape for name, leaf in policy.leaves.items()}
    found = {name: array.shape[1:] for name, array in demonstrations.obs.items()}
    if not len(demonstrations) or wanted != found:
        raise SettingsError(f"the demonstrations show {found or 'nothing'}, but the env shows {wanted}")
    _check_actions(policy, demonstrations.actions)
    for name, rows in demonstrations.obs.items():
        _check_observations(name, rows, policy.leaves[name])


def _check_actions(policy: Policy, actions: Array) -> None:
    sampler = sampler_for(policy.action_space, policy.net.box)
    if actions.shape[1:] != sampler.drawn_shape:
        raise SettingsError(
            f"the demonstrations hold actions of shape {actions.shape[1:]}, "
            f"wanted {sampler.drawn_shape} for {policy.action_space}"
        )
    if actions.dtype != np.dtype(sampler.drawn_dtype) or not sampler.is_drawn(actions).all():
        raise SettingsError(
            f"the demonstrations hold {actions.dtype} actions that nobody can take in {policy.action_space}; "
            "record anew"
        )


def _check_observations(name: str, rows: Array, leaf: LeafShape) -> None:
    first = np.array([start for _, start in leaf.choices])
    after = np.array([start + n for n, start in leaf.choices])
    flat = rows.reshape(len(rows), -1)
    fits = np.isfinite(rows).all() and (not leaf.choices or ((flat >= first) & (flat < after)).all())
    if str(rows.dtype) != leaf.dtype or not fits:
        raise SettingsError(
            f"the demonstrations show {name} as {rows.dtype}, with values that the env cannot show as {leaf.dtype}; "
            "record anew"
        )
