"""The weights a training starts from, where a model file gives them."""

from __future__ import annotations

from dataclasses import asdict

from parcade.config.settings import TrainSettings
from parcade.errors import ModelFileError
from parcade.learn.policy import Policy
from parcade.run.model_file import load_weights
from parcade.train.assembly import net_of
from parcade.train.policy_file import load_policy


def take_weights(into: Policy, settings: TrainSettings, model: str) -> None:
    """Start from a model's weights; where they do not fit, say in what its training was another one."""
    policy, foreign = load_policy(model)
    try:
        load_weights(into, policy.state_dict(), model)
    except ModelFileError:
        theirs, ours = asdict(policy.net), asdict(net_of(settings))
        others = [f"{name} {theirs[name]} instead of {ours[name]}" for name in ours if theirs[name] != ours[name]]
        spec = foreign.spec
        where = f"{spec.label} ({spec.observation})" if spec.game else spec.label
        told = ", with ".join([f"it was trained in {where}", *others])
        raise ModelFileError(f"{model} does not fit the network: {told}") from None
