"""The value of a moment that somebody looks at, where the workers' policy computes none.

Small policies act beside the games without their critic (docs/decisions/0009). A saved policy of the run, which is as
old as its last checkpoint, is asked instead; its process runs while somebody looks at one game.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

from parcade.view.page.asked_policy import FAILED, OPENING, READY, AskedPolicy, Rows
from parcade.view.page.telling import plain

RENEW_S, RETRY_S = 30.0, 10.0  # after which a newer policy is loaded, or one is looked for again


class LiveValues:
    """Asks one question at a time; whoever comes meanwhile gets no answer, and asks again with the next moment."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._policy: AskedPolicy | None = None
        self._opened_s = 0.0
        self._is_busy = False

    async def value(self, rows: Rows, env_steps: int) -> dict[str, Any] | None:
        """Return what a saved policy expects from an observation on, and which one it is; None where none answers."""
        if self._is_busy:
            return None
        self._is_busy = True
        try:
            policy = self._opened(env_steps)
            found = await asyncio.to_thread(policy.value_of, rows) if policy.state == READY else None
        finally:
            self._is_busy = False
        if found is None:
            return None
        return {"value": plain(found), "name": policy.about.get("name"), "env_steps": policy.about.get("env_steps")}

    def _opened(self, env_steps: int) -> AskedPolicy:
        age_s = time.monotonic() - self._opened_s
        if self._policy is None:
            self._policy = AskedPolicy(self._run, env_steps)
        elif self._policy.state == OPENING or age_s < (RETRY_S if self._policy.state == FAILED else RENEW_S):
            return self._policy
        else:
            self._policy.choose(None, env_steps)
        self._opened_s = time.monotonic()
        return self._policy

    def close(self) -> None:
        """Let the process go, without waiting for it; twice is fine."""
        policy, self._policy = self._policy, None
        if policy is not None:
            threading.Thread(target=policy.close, daemon=True).start()
