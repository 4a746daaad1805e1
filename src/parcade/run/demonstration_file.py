"""Recorded play in a file: safetensors and JSON, so reading one never runs code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parcade.errors import ModelFileError
from parcade.run.archive import Arrays, read_archive, write_archive


def save_demonstrations(path: Path, obs: Arrays, actions: Any, meta: dict[str, Any]) -> None:
    """Write steps of play: what was seen by leaf name, and what was done."""
    write_archive(path, "demonstrations", meta, {"obs": obs, "actions": {"drawn": actions}})


def load_demonstrations(path: str | Path) -> tuple[Arrays, Any, dict[str, Any]]:
    """Return observations, actions and what is said of them."""
    meta, groups = read_archive(path, "demonstrations")
    actions = groups.get("actions", {}).get("drawn")
    obs = groups.get("obs", {})
    if actions is None or not obs or any(len(rows) != len(actions) for rows in obs.values()):
        raise ModelFileError(f"{path} lacks observations or actions, or has not as many of one as of the other")
    return obs, actions, meta
