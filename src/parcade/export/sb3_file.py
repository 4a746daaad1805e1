"""A policy as a zip of Stable-Baselines3 that `PPO.load` opens; what SB3 cannot express is refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from parcade.env.slot import WHOLE
from parcade.errors import MissingExtraError, UserError
from parcade.export.network import Step, input_rows
from parcade.learn.encoders import ChoiceEncoder, PixelEncoder, VectorEncoder
from parcade.learn.policy import Policy
from parcade.learn.sampling import Array

_INSTEAD = "use --to onnx or --to torchscript"


class Sb3Error(UserError):
    """A policy that Stable-Baselines3 has no words for."""


def write(policy: Policy, path: Path, observation_space: spaces.Space[Any]) -> None:
    """Write a PPO whose policy is ``policy``; its other settings are SB3's defaults."""
    try:
        import stable_baselines3  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "Stable-Baselines3 is not installed; install it with: pip install 'parcade[sb3]'"
        ) from None
    if not builds_without_env():
        raise Sb3Error(
            f"Stable-Baselines3 {metadata.version('stable-baselines3')} does not build a policy without an env as 2.9 "
            f"does; install 2.9, or {_INSTEAD}"
        )
    for reason in _reasons_against(policy, observation_space):
        raise Sb3Error(f"Stable-Baselines3 cannot express {reason}; {_INSTEAD}")
    kind = "MultiInputPolicy" if isinstance(observation_space, spaces.Dict) else "MlpPolicy"
    try:
        seen = _seen_space(policy, observation_space)
        model = _without_env(kind, seen, policy.action_space, policy_kwargs=_policy_kwargs(policy))
    except (AssertionError, NotImplementedError, ValueError, TypeError) as error:
        raise Sb3Error(f"Stable-Baselines3 refuses these spaces: {str(error)[:200]}; {_INSTEAD}") from None
    _take_weights(model.policy, policy)
    with open(path, "wb") as file:  # by a name SB3 would put .zip behind
        model.save(file)


def _without_env(kind: str, seen: spaces.Space[Any], actions: spaces.Space[Any], **options: Any) -> Any:
    """Return a PPO for two spaces alone: it needs no env to predict. Stable-Baselines3 has no public way."""
    from stable_baselines3 import PPO

    none: Any = None
    model = PPO(kind, none, device="cpu", _init_setup_model=False, **options)
    model.observation_space, model.action_space = seen, actions
    model.n_envs = 1
    model._setup_model()
    return model


@cache
def builds_without_env() -> bool:
    """Whether this Stable-Baselines3 builds a policy from two spaces alone."""
    try:
        model = _without_env("MlpPolicy", spaces.Box(0, 1, (1,)), spaces.Discrete(2))
    except (AttributeError, TypeError):
        return False
    return isinstance(getattr(model, "policy", None), nn.Module)


def _reasons_against(policy: Policy, space: spaces.Space[Any]) -> Iterator[str]:
    """Yield what of the policy has no counterpart in SB3's PPO."""
    if policy.recurrence is not None:
        yield "an LSTM in PPO"
    if policy.mask_leaf is not None:
        yield f"the action mask {policy.mask_leaf} inside an observation"
    actions = policy.action_space
    if isinstance(actions, spaces.Box) and policy.net.box == "beta":
        yield "a Beta distribution of actions"
    if np.any(getattr(actions, "start", 0)) or any(
        start for leaf in policy.leaves.values() for _, start in leaf.choices
    ):
        yield "choices that do not start at 0"
    if isinstance(actions, spaces.MultiDiscrete | spaces.MultiBinary) and len(actions.shape) != 1:
        yield f"actions of shape {actions.shape}"
    parts: list[Any] = list(space.spaces.values()) if isinstance(space, spaces.Dict) else [space]
    if any(isinstance(part, spaces.Dict | spaces.Tuple) for part in parts):
        yield "observations in a Tuple or in Dicts inside each other"
    elif any("." in name for name in policy.leaves):
        yield "a dot in the name of an observation"
    for part, leaf in zip(parts, policy.leaves.values(), strict=False):
        if leaf.is_picture and (np.any(part.low != 0) or np.any(part.high != 255)):
            yield "pictures with other bounds than 0 and 255"


def _policy_kwargs(policy: Policy) -> dict[str, Any]:
    hidden = [layer.out_features for layer in policy.actor.linear[:-1]]
    return {
        "net_arch": {"pi": hidden, "vf": list(hidden)},
        "activation_fn": nn.Tanh if policy.net.activation == "tanh" else nn.ReLU,
        "ortho_init": False,
        **_extractor(policy),
    }


def _is_native(policy: Policy) -> bool:
    """Whether SB3's own features extractors do what ours do."""
    scaled = any(isinstance(part, VectorEncoder) and part.moments is not None for part in policy.parts)
    return not scaled and (policy.net.cnn == "nature" or not policy.has_pictures)


def _extractor(policy: Policy) -> dict[str, Any]:
    from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, NatureCNN

    if not _is_native(policy):
        from parcade.export.sb3_features import PolicyFeatures

        own = {"cnn": policy.net.cnn, "normalize_obs": policy.net.normalize_obs}
        return {"features_extractor_class": PolicyFeatures, "features_extractor_kwargs": own}
    if tuple(policy.leaves) != (WHOLE,):
        return {"features_extractor_class": CombinedExtractor, "features_extractor_kwargs": {"cnn_output_dim": 512}}
    if policy.has_pictures:
        return {"features_extractor_class": NatureCNN, "features_extractor_kwargs": {"features_dim": 512}}
    return {"features_extractor_class": FlattenExtractor}


def _seen_space(policy: Policy, space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return the space as SB3's policies see it: pictures with their channels first."""
    if isinstance(space, spaces.Dict):
        parts = zip(space.spaces.items(), policy.parts, strict=True)
        return spaces.Dict({name: _channels_first(part, encoder) for (name, part), encoder in parts})
    return _channels_first(space, policy.parts[0])


def _channels_first(space: spaces.Space[Any], encoder: nn.Module) -> spaces.Space[Any]:
    if not isinstance(encoder, PixelEncoder) or not encoder.channels_last:
        return space
    height, width, channels = space.shape or ()
    return spaces.Box(0, 255, (channels, height, width), np.uint8)


def _take_weights(theirs: Any, policy: Policy) -> None:
    """Copy every weight of ours into SB3's policy; a misfit raises."""
    pairs = [
        *_layers(policy.actor.linear, [*_linear(theirs.mlp_extractor.policy_net), theirs.action_net]),
        *_layers(policy.critic.linear, [*_linear(theirs.mlp_extractor.value_net), theirs.value_net]),
    ]
    with torch.no_grad():
        for ours, other in pairs:
            other.load_state_dict(ours.state_dict())
        if policy.log_std is not None:
            theirs.log_std.copy_(policy.log_std)
        for name, encoder in zip(policy.seen, policy.parts, strict=True):
            _take_encoder(theirs.features_extractor, name, encoder)


def _take_encoder(extractor: nn.Module, name: str, encoder: nn.Module) -> None:
    parts: Any = getattr(extractor, "encoders", getattr(extractor, "extractors", None))
    theirs: Any = extractor if parts is None else parts[name]
    if isinstance(encoder, PixelEncoder):
        layers = [module for module in encoder.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
        others = [module for module in theirs.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
        for ours, other in _layers(layers, others):
            other.load_state_dict(ours.state_dict())
    elif isinstance(encoder, VectorEncoder) and encoder.moments is not None:
        theirs[1].load_state_dict(encoder.moments.state_dict())
    else:
        assert isinstance(encoder, VectorEncoder | ChoiceEncoder)  # nothing to learn in them


def _layers(ours: list[Any], theirs: list[Any]) -> list[tuple[nn.Module, nn.Module]]:
    return list(zip(ours, theirs, strict=True))


def _linear(module: nn.Module) -> list[nn.Linear]:
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


class Sb3Policy:
    """Plays a zip with `PPO.load`."""

    def __init__(self, policy: Policy, path: Path) -> None:
        from stable_baselines3 import PPO

        self._policy, self._model = policy, PPO.load(str(path), device="cpu")

    @torch.no_grad()
    def __call__(self, rows: Mapping[str, Array], state: Array) -> Step:
        """Answer one observation."""
        seen: Any = input_rows(self._policy, rows)
        seen = seen[WHOLE] if tuple(seen) == (WHOLE,) else seen
        theirs = self._model.policy
        tensors, _ = theirs.obs_to_tensor(seen)
        latent_pi, latent_vf = theirs.mlp_extractor(theirs.extract_features(tensors))
        params: Tensor = theirs.action_net(latent_pi)
        if self._policy.log_std is not None:
            params = torch.cat([params, theirs.log_std.expand_as(params)], -1)
        action, _ = self._model.predict(seen, deterministic=True)
        return Step(action, params.numpy(), theirs.value_net(latent_vf)[:, 0].numpy(), state)
