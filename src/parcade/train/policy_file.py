"""The policy of a model file, and the env that the file says it was trained in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parcade.env.foreign import ForeignSpec
from parcade.env.space_json import space_from_json
from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError, SettingsError
from parcade.host.input_file import short
from parcade.learn.encoders import CNNS, LeafShape
from parcade.learn.policy import NetSettings, Policy
from parcade.run.model_file import load_model, load_weights
from parcade.train.network_size import check_network

# What building a network from plain data raises where the data is wrong.
_UNFIT = (
    SettingsError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
)


def load_policy(path: str | Path) -> tuple[Policy, ForeignSpec]:
    """Return the policy of a model file and the env that the file says it was trained in."""
    model = load_model(path)
    try:
        shapes = {name: _leaf_shape(*leaf) for name, leaf in model.meta["leaves"].items()}
        actions, settings = space_from_json(model.meta["action_space"]), _net_settings(dict(model.meta["net"]))
        check_network(shapes, actions, settings, sum(weight.nbytes for weight in model.weights.values()))
        policy = Policy(shapes, actions, settings)
    except _UNFIT as error:
        raise ModelFileError(f"{path} describes a network that cannot be built: {str(error)[:300]}") from None
    load_weights(policy, model.weights, path)
    try:
        return policy, ForeignSpec(EnvSpec.from_dict(model.meta["env"]), str(path))
    except SettingsError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _net_settings(net: dict[str, Any]) -> NetSettings:
    """Return what decides a network's shape, as a model file holds it."""
    words = {"cnn": CNNS, "activation": ("tanh", "relu"), "box": ("gaussian", "beta"), "normalize_obs": (True, False)}
    for name, known in words.items():
        if name in net and net[name] not in known:
            raise ValueError(f"{name} is {short(net[name])}, wanted one of {', '.join(map(str, known))}")
    hidden = net.get("hidden")
    sizes = [net.get("lstm", 0), *(hidden or ())]
    if len(sizes) > 65 or any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError(f"its layers are {short(hidden)} and lstm is {short(sizes[0])}, wanted whole numbers")
    return NetSettings(**{**net, "hidden": None if hidden is None else tuple(hidden)})


def _leaf_shape(shape: list[int], dtype: str, choices: Sequence[tuple[int, int]] = ()) -> LeafShape:
    """Return a leaf as a model file holds it; files written before choices were one-hot name none."""
    if np.dtype(dtype).kind not in "biuf" or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError(f"a leaf is {short(shape)} of {short(dtype)}, wanted whole numbers and a kind of number")
    return LeafShape(tuple(shape), dtype, tuple((int(n), int(start)) for n, start in choices))
