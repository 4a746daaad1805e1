"""Model files: weights, what network they belong to, and which env they act in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from parcade.errors import ModelFileError
from parcade.run.archive import read_archive, write_archive


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model as plain data; ``train`` and ``evaluate`` make a policy of it."""

    weights: dict[str, torch.Tensor]
    meta: dict[str, Any]


def save_model(path: Path, weights: dict[str, torch.Tensor], meta: dict[str, Any]) -> None:
    """Write a model file; ``meta`` holds env spec, leaves, action space and network, all JSON-ready."""
    require_numbers(weights, path)
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}
    write_archive(path, "model", meta, {"weights": arrays})


def load_model(path: str | Path) -> ModelFile:
    """Read a model file, or the model in a checkpoint; a missing part is named."""
    if Path(path).suffix == ".ckpt":
        whole, groups = read_archive(path, "checkpoint")
        meta = whole.get("model")
        if not isinstance(meta, dict):
            raise ModelFileError(f"{path} is of an older Parcade and names no network; `parcade resume` reads it")
    else:
        meta, groups = read_archive(path, "model")
    missing = [key for key in ("env", "leaves", "action_space", "net") if key not in meta]
    if missing or "weights" not in groups:
        raise ModelFileError(f"{path} lacks {', '.join(missing) or 'weights'}")
    weights = {name: torch.from_numpy(array.copy()) for name, array in groups["weights"].items()}
    require_numbers(weights, path)
    return ModelFile(weights, meta)


def require_numbers(weights: dict[str, torch.Tensor], path: str | Path) -> None:
    """Refuse weights that are infinite or NaN, whoever would write or play them."""
    for name, weight in weights.items():
        if weight.is_floating_point() and not torch.isfinite(weight).all():
            raise ModelFileError(
                f"{path}: the weights {name} hold NaN or infinite values, so their training diverged; use another model"
            )


def load_weights(module: torch.nn.Module, weights: dict[str, torch.Tensor], path: str | Path) -> None:
    """Put weights into a network; other names, shapes or kinds of numbers are refused in one sentence."""
    own = module.state_dict()
    wrong = sorted(set(own) ^ set(weights)) or [name for name in own if _form(own[name]) != _form(weights[name])]
    if wrong:
        raise ModelFileError(
            f"{path} does not fit the network: {wrong[0]} is missing, unknown, or of another shape or kind of number"
        )
    module.load_state_dict(weights)


def _form(weight: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return weight.shape, weight.dtype
