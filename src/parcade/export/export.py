"""From a model file to a file of another program, checked on real play before it takes its name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from parcade import __version__
from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.space_json import space_to_json
from parcade.env.spec import EnvSpec
from parcade.errors import RunError, SettingsError, did_you_mean
from parcade.export import onnx_file, sb3_file, torchscript_file
from parcade.export.network import ExportedPolicy, PlayedPolicy
from parcade.export.recorded import Difference, Rows, compare, record_episodes
from parcade.learn.policy import Policy
from parcade.train.episode_parts import first_seed
from parcade.train.policy_file import load_policy
from parcade.train.python_env import PythonEnv, named_env

FORMATS = ("onnx", "sb3", "torchscript")
STEPS = 500  # of real play that a file is checked on
LARGEST_DIFFERENCE = 1e-3  # a file that is further from ours is wrong
ROUNDING = 1e-5  # up to here it is rounding


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, and how far it is from the model."""

    file: str
    format: str
    bytes: int
    env: str
    difference: Difference

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        found = self.difference
        return {
            "file": self.file,
            "to": self.format,
            "bytes": self.bytes,
            "env": self.env,
            "steps": found.steps,
            "episodes": found.episodes,
            "max_difference": found.largest,
            "same_actions": found.steps - found.other_actions,
        }


def export_model(
    model: str | Path,
    out: str | Path,
    *,
    to: str = "onnx",
    env: PythonEnv | None = None,
    steps: int = STEPS,
    seed: int = 0,
    **changes: Any,
) -> Exported:
    """Write the policy of a model file for another program: ``to`` is onnx, sb3 or torchscript.

    The model plays ``steps`` real steps on unseen seeds; the file is kept only if it answers their observations as the
    model does. ``env`` and ``changes`` name what the model file alone cannot give, as for ``evaluate``.
    """
    _check(out := Path(out), to, steps)
    policy, foreign = load_policy(model)
    named, factory = named_env(env)
    named.pop("env_factory", None)
    spec = evaluated_as(foreign.accepted({**named, **changes, "factory": factory}), "fast")
    game = make(spec)
    try:
        writes, opens = _format(to, policy, game, spec)
        temporary = _beside(out)
        try:
            writes(temporary)
            episodes = record_episodes(policy, game, steps, first_seed(seed))
            found = _checked(policy, opens(policy, temporary), episodes, to)
            os.replace(temporary, out)
        finally:
            temporary.unlink(missing_ok=True)
    finally:
        game.close()
    return Exported(str(out), to, out.stat().st_size, spec.label, found)


def _check(out: Path, to: str, steps: int) -> None:
    if to not in FORMATS:
        raise SettingsError(
            f"a model cannot be exported to {to!r}{did_you_mean(to, FORMATS)}; use {', '.join(FORMATS)}"
        )
    if steps < 1:
        raise SettingsError(f"steps is {steps}, wanted 1 or more")
    if not out.parent.is_dir():
        raise SettingsError(f"the folder of {out} does not exist")
    if out.exists() and not out.is_file():
        raise SettingsError(f"{out} is a folder, a pipe or a device; give the export the name of a file")


def _format(
    to: str, policy: Policy, env: gym.Env[Any, Any], spec: EnvSpec
) -> tuple[Callable[[Path], None], Callable[[Policy, Path], ExportedPolicy]]:
    """Return what writes a format, and what plays it."""
    if to == "sb3":
        return lambda path: sb3_file.write(policy, path, env.observation_space), sb3_file.Sb3Policy
    meta = _meta(policy, spec)
    if to == "onnx":
        return lambda path: onnx_file.write(policy, path, meta), onnx_file.OnnxPolicy
    return lambda path: torchscript_file.write(policy, path, meta), torchscript_file.TorchScriptPolicy


def _meta(policy: Policy, spec: EnvSpec) -> dict[str, Any]:
    """Return what somebody who finds the file wants to know."""
    network = PlayedPolicy(policy)
    return {
        "parcade": __version__,
        "env": spec.label,
        "inputs": list(network.input_names),
        "outputs": list(network.output_names),
        "leaves": {name: [list(leaf.shape), leaf.dtype] for name, leaf in policy.leaves.items()},
        "action_space": space_to_json(policy.action_space),
        "distribution": type(policy.distribution).__name__,
        "state_size": policy.state_size,
    }


def _beside(out: Path) -> Path:
    try:
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}-")
    except OSError as error:
        raise SettingsError(f"{out} cannot be written: {error.strerror}") from None
    os.close(handle)
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files
    return Path(name)


def _checked(policy: Policy, exported: ExportedPolicy, episodes: list[list[Rows]], to: str) -> Difference:
    found = compare(policy, exported, episodes)
    if found.largest > LARGEST_DIFFERENCE:
        raise RunError(
            f"the {to} file answers {found.steps:,} recorded steps up to {found.largest:.2g} apart from the model; "
            "nothing was written, please report this model"
        )
    return found
