"""How large a network would be, told before it is made: a few numbers in a file or a flag can ask for terabytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from parcade.errors import SettingsError
from parcade.learn.encoders import LeafShape
from parcade.learn.policy import NetSettings, Policy

_SMALL = 64 << 20  # weights; below this a network is simply made


def check_network(leaves: Mapping[str, LeafShape], action_space: Any, net: NetSettings, most_bytes: float) -> None:
    """Raise SettingsError for a network whose weights take more than ``most_bytes``; no memory is taken to find out."""
    if _estimate(leaves, action_space, net) < _SMALL:
        return
    try:
        with torch.device("meta"):  # shapes without numbers
            weights = Policy(leaves, action_space, net).state_dict().values()
        n_bytes = sum(weight.numel() * weight.element_size() for weight in weights)
    except RuntimeError:  # more numbers than can be counted
        raise SettingsError("the network is larger than any memory; use fewer or smaller layers") from None
    if n_bytes > most_bytes:
        raise SettingsError(
            f"the network's weights take {n_bytes / 2**30:,.1f} GiB, and there is room for {most_bytes / 2**30:,.2f}; "
            "use fewer or smaller layers"
        )


def _estimate(leaves: Mapping[str, LeafShape], action_space: Any, net: NetSettings) -> int:
    """Return about how many weights the layers have, pictures counted as if all their pixels met the first layer."""
    seen = sum(sum(n for n, _ in leaf.choices) or math.prod(leaf.shape) for leaf in leaves.values())
    chosen = int(getattr(action_space, "n", 0)) if not action_space.shape else math.prod(action_space.shape)
    chosen += int(np.sum(getattr(action_space, "nvec", ()), dtype=np.float64))
    hidden = (256,) if net.hidden is None else net.hidden
    widths = [seen, *([4 * net.lstm] if net.lstm else []), *hidden, chosen]
    return 2 * sum(a * b for a, b in pairwise(widths)) + 4 * net.lstm**2
