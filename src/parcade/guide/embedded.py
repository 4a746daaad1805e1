"""The small model that the extra brings: its server is started for a while, in a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from parcade.config.llm_address import missing_packages
from parcade.errors import LlmError, MissingExtraError
from parcade.guide.client import LlmClient
from parcade.guide.key import Key

MODEL = "SmolLM2-135M-Instruct"
NOTE = f"{MODEL} is a small model: its milestones are valid, but may not help (--llm URL asks a larger one)"
START_S = 60.0  # until the weights are loaded
DEADLINE_S = 600.0  # of one answer: a coach gives it only what the games leave


def check_installed() -> None:
    """Raise MissingExtraError unless everything is installed."""
    missing = missing_packages(is_small=True)
    if missing:
        raise MissingExtraError(
            f"without --llm a small model answers, which needs {', '.join(missing)}; install it with "
            "`pip install 'parcade[guide]'` (docs/install.md), or name a server with --llm URL --llm-model NAME"
        )


@contextmanager
def embedded_model(deadline_s: float = DEADLINE_S) -> Iterator[LlmClient]:
    """Start the server, give its client, and end it."""
    check_installed()
    command = [sys.executable, "-m", "parcade.guide.llama_server", str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        told = _first_line(process)
        yield LlmClient(told["url"], MODEL, Key(told["token"]), deadline_s, is_small=True)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _first_line(process: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return what the server says when it is ready."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], START_S)[0]:
        raise LlmError(f"the small model was not loaded within {START_S:g} s")
    try:
        told: dict[str, str] = json.loads(process.stdout.readline())
    except ValueError:
        raise LlmError(f"the small model's server ended at once (exit code {process.wait()})") from None
    if "failed" in told:
        raise LlmError(f"the small model cannot be loaded: {told['failed']}")
    return told
