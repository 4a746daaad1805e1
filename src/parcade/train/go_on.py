"""The commands that go on with a run: whole, so that they work as they are printed."""

from __future__ import annotations

import shlex
from pathlib import Path

from parcade.env.foreign import flags_again
from parcade.env.spec import EnvSpec


def resume_command(spec: EnvSpec, run_dir: Path) -> str:
    """Return what resumes the run; the env of a function can only be given in Python."""
    if spec.factory is not None:
        return f"parcade.resume({str(run_dir)!r}, env={spec.label})"
    return shlex.join(["parcade", "resume", str(run_dir), *flags_again(spec)])


def eval_command(spec: EnvSpec, model: Path) -> str:
    """Return what lets a model of the run play on unseen seeds; a model file notes no ROM's hash."""
    if spec.factory is not None:
        return f"parcade.evaluate({str(model)!r}, env={spec.label})"
    return shlex.join(["parcade", "eval", "--model", str(model), *flags_again(spec, with_files=True)])
