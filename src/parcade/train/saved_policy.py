"""Says what the saved policies of a run think of observations: `python -m parcade.train.saved_policy RUN`.

A process for viewers, which never load torch themselves. Each message on stdin gets one answer on stdout
(`run/array_message.py`): ``{"open": name, "near": env_steps}`` loads a policy, a message with arrays is a question
to it. It ends when its stdin is closed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from parcade.env.space_json import space_to_json
from parcade.errors import ModelFileError, ParcadeError
from parcade.host.child_process import name_process
from parcade.learn.policy import Policy
from parcade.learn.rows import as_tensor, padded
from parcade.learn.sampling import BETA_SHARPNESS
from parcade.run.array_message import Array, receive_message, send_message
from parcade.run.model_file import load_model
from parcade.train.policy_file import load_policy

MEMORY = "(memory)"  # of the policy before the first observation, and after each
_MOST = 200  # policies that are offered
_STEPS = re.compile(r"(?:step|model)_(\d+)\.(?:ckpt|zip)")


class SavedPolicies:
    """The policies in a run's folder, one of them loaded."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._policy: Policy | None = None

    def open(self, wanted: str | None, near: int | None) -> dict[str, Any]:
        """Load the policy ``wanted``, or the one saved nearest to ``near`` env steps; return what it is."""
        found = saved_policies(self._run)
        order = sorted(found, key=lambda name: (abs(found[name] - (near or 0)), -found[name], name))
        for name in order if wanted is None else [wanted] if wanted in found else []:
            try:
                self._policy = load_policy(self._run / name)[0].eval()
            except ModelFileError as error:
                if wanted is None and not (self._run / name).exists():
                    continue  # a newer checkpoint took its place just now
                raise ModelFileError(str(error).replace(str(self._run / name), name)) from None
            listed = [{"name": one, "env_steps": found[one]} for one in sorted(found, key=lambda one: -found[one])]
            return {"name": name, "env_steps": found[name], "policies": listed, **_words(self._policy)}
        if wanted is not None:
            raise ModelFileError(f"{wanted} is not there any more")
        raise ModelFileError("this run has saved no policy yet")

    def answer(self, seen: dict[str, Array]) -> dict[str, Array]:
        """Return parameters and values of observations that follow each other, and the memory after each."""
        policy, memory = self._policy, seen.pop(MEMORY)
        if policy is None:
            raise ModelFileError("no policy is loaded")
        wanted = {name: leaf.shape for name, leaf in policy.leaves.items()}
        found = {name: rows.shape[1:] for name, rows in seen.items()}
        if found != wanted:
            raise ModelFileError(f"the policy observes {wanted}, but this episode shows {found}")
        size = 1 if policy.state_size else max(1, len(memory))
        parts: list[tuple[Array, Array, Array]] = []
        for first in range(0, len(memory), size):
            before = memory[first : first + size] if not parts else parts[-1][2]
            parts.append(_step(policy, {name: rows[first : first + size] for name, rows in seen.items()}, before))
        params, values, after = (np.concatenate(one) for one in zip(*parts, strict=True))
        return {"params": params, "values": values, MEMORY: after}


def saved_policies(run: Path) -> dict[str, int]:
    """Return the env steps of every policy in a run's folder, by its file's name below it."""
    files = [*(run / "checkpoints").glob("step_*.ckpt"), *(run / "models").glob("*.zip")]
    found = {}
    for path in files:
        if path.is_file() and not path.is_symlink():
            named = _STEPS.fullmatch(path.name)
            steps = int(named.group(1)) if named else _noted_steps(path)
            if steps is not None:
                found[f"{path.parent.name}/{path.name}"] = steps
    return dict(sorted(found.items(), key=lambda one: -one[1])[:_MOST])


def _noted_steps(path: Path) -> int | None:
    try:
        steps = load_model(path).meta.get("env_steps")
    except ModelFileError:
        return None
    return steps if type(steps) is int else None


def _words(policy: Policy) -> dict[str, Any]:
    """Return what the policy's numbers mean, as live.json says it of a training."""
    return {
        "action_space": space_to_json(policy.action_space),
        "box_policy": policy.net.box,
        "beta_sharpness": BETA_SHARPNESS,
        "memory": policy.state_size,
    }


@torch.inference_mode()
def _step(policy: Policy, seen: Mapping[str, Array], memory: Array) -> tuple[Array, Array, Array]:
    tensors = {name: padded(as_tensor(rows)) for name, rows in seen.items()}
    found = policy.step(tensors, padded(torch.from_numpy(memory)))
    params, values, after = (part[: len(memory)].numpy() for part in found)
    return params, values, after


def serve(policies: SavedPolicies, questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there is no further question."""
    while (asked := receive_message(questions)) is not None:
        record, arrays = asked
        try:
            if "open" in record:
                send_message(answers, policies.open(record["open"], record.get("near")))
            else:
                send_message(answers, {}, policies.answer(arrays))
        except ParcadeError as error:
            send_message(answers, {"failed": str(error)[:500]})


def main() -> None:
    """Serve the process that started this one, with what processor time others leave."""
    name_process("parcade-policy")
    os.nice(10)
    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever else prints must not garble an answer
    serve(SavedPolicies(Path(sys.argv[1])), sys.stdin.buffer, answers)
    os._exit(0)  # taking torch apart takes longer than all answers


if __name__ == "__main__":
    main()
