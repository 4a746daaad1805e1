"""A policy as a TorchScript file: `torch.jit.load` opens it without Parcade, in Python and in C++."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from parcade.export.network import PlayedPolicy, Step, input_rows
from parcade.learn.policy import Policy
from parcade.learn.sampling import Array

META = "parcade.json"


def write(policy: Policy, path: Path, meta: Mapping[str, Any]) -> None:
    """Trace the policy and write it with what is said of it."""
    network = PlayedPolicy(policy).eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch advises torch.export, whose files need the same torch again
        trace: Any = torch.jit.trace
        traced = trace(network, network.example(3), check_trace=False)
        torch.jit.save(traced, str(path), _extra_files={META: json.dumps(meta)})


class TorchScriptPolicy:
    """Plays a TorchScript file."""

    def __init__(self, policy: Policy, path: Path) -> None:
        self._policy = policy
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._module = torch.jit.load(str(path))  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def __call__(self, rows: Mapping[str, Array], state: Array) -> Step:
        """Answer one observation."""
        inputs = [torch.from_numpy(row) for row in input_rows(self._policy, rows).values()]
        memory = [torch.from_numpy(state)] if self._policy.state_size else []
        action, params, value, *after = (out.numpy() for out in self._module(*inputs, *memory))
        return Step(action, params, value, after[0] if after else state)
