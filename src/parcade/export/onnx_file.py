"""A policy as an ONNX file: onnxruntime and many other programs open it, without torch and without Parcade."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from parcade.errors import MissingExtraError
from parcade.export.network import STATE, PlayedPolicy, Step, input_rows
from parcade.learn.policy import Policy
from parcade.learn.sampling import Array

META = "parcade"  # the key of the file's metadata that holds ours
_LACKING = "an export to ONNX needs onnx, onnxscript and onnxruntime; install them with: pip install 'parcade[export]'"


def write(policy: Policy, path: Path, meta: Mapping[str, Any]) -> None:
    """Write one file with all weights; any number of rows fits its inputs."""
    try:
        import onnx
        import onnxscript  # noqa: F401  torch.onnx imports it
    except ImportError:
        raise MissingExtraError(_LACKING) from None
    network = PlayedPolicy(policy).eval()
    rows = torch.export.Dim("rows", min=1)
    with _quiet(), torch.no_grad():
        made = torch.onnx.export(
            network,
            network.example(3),
            dynamo=True,
            input_names=list(network.input_names),
            output_names=list(network.output_names),
            dynamic_shapes=(tuple({0: rows} for _ in network.input_names),),
        )
    assert made is not None
    model = made.model_proto
    for node in model.graph.node:  # where in our files it came from: paths of the user's machine
        node.ClearField("metadata_props")
    for value in (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
        value.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    onnx.helper.set_model_props(model, {META: json.dumps(meta)})
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


class OnnxPolicy:
    """Plays an ONNX file in onnxruntime, in one thread."""

    def __init__(self, policy: Policy, path: Path) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtraError(_LACKING) from None
        self._policy = policy
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, rows: Mapping[str, Array], state: Array) -> Step:
        """Answer one observation."""
        memory = {STATE: state} if self._policy.state_size else {}
        action, params, value, *after = self._session.run(None, {**input_rows(self._policy, rows), **memory})
        return Step(action, params, value, after[0] if after else state)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's steps and advice from the terminal; what fails is raised."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
