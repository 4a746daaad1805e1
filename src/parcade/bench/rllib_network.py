"""Parcade's network as a module of RLlib: a peer is measured with the very same one."""

from __future__ import annotations

from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from parcade.learn.policy import NetSettings, Policy
from parcade.train.assembly import leaf_shapes


class SameNetwork(TorchRLModule, ValueFunctionAPI):
    """Encodes once for the actor and the critic, as ours does."""

    def setup(self) -> None:
        """Make the network of the env's spaces."""
        assert self.observation_space is not None
        assert self.action_space is not None
        shapes = leaf_shapes(self.observation_space)
        (self._leaf,) = shapes
        self.policy = Policy(shapes, self.action_space, NetSettings())

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        latent = self.policy.encode({self._leaf: batch[Columns.OBS]})
        return {Columns.ACTION_DIST_INPUTS: self.policy.actor(latent)}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        latent = self.policy.encode({self._leaf: batch[Columns.OBS]})
        return {Columns.ACTION_DIST_INPUTS: self.policy.actor(latent), Columns.EMBEDDINGS: latent}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """Return the states' values."""
        latent = self.policy.encode({self._leaf: batch[Columns.OBS]}) if embeddings is None else embeddings
        return self.policy.critic(latent).squeeze(-1)
