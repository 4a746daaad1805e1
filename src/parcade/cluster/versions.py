"""What must be the same on every node for the same bits."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import numpy as np
import torch

_NAMES = {
    "python": "Python",
    "parcade": "Parcade",
    "source": "Parcade's source files",
    "torch": "torch",
    "numpy": "NumPy",
}


@cache
def versions() -> Mapping[str, str]:
    """Return what runs here."""
    return {
        "python": platform.python_version(),
        "parcade": metadata.version("parcade"),
        "source": _source(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _source() -> str:
    """Return a hash of all source files of the package: a copy that somebody changed has the version of the other."""
    root, total = Path(__file__).parents[1], sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """Return what differs on a node from the trainer's machine, as the rest of a sentence."""
    for key, name in _NAMES.items():
        if here[key] != there[key]:
            return f"has {name} {there[key]}, and this machine {here[key]}; install the same on both"
    return None
