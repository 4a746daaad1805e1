"""All clients of all runs: one stage for each run that somebody looks at."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

from starlette.websockets import WebSocket, WebSocketDisconnect

from parcade.view.page.client import Client
from parcade.view.page.stage import Stage

MOST_CLIENTS = 32


async def refuse(socket: WebSocket, words: str) -> None:
    """Say why a websocket is not served, and close it."""
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.accept()
        await socket.send_text(json.dumps({"kind": "problem", "words": words}))
        await socket.close(1013)


class Hub:
    """Opens a stage for the first client of a run and closes it behind the last."""

    def __init__(self, most_clients: int = MOST_CLIENTS, share: float | None = None) -> None:
        self._stages: dict[Path, Stage] = {}
        self._most_clients, self._share = most_clients, share

    @property
    def n_clients(self) -> int:
        """Clients of all runs."""
        return sum(len(stage.clients) for stage in self._stages.values())

    def stage(self, run: Path) -> Stage | None:
        """Return the stage of a run that somebody looks at."""
        return self._stages.get(run)

    async def serve(self, socket: WebSocket, run: Path) -> None:
        """Serve one websocket until it is closed."""
        if self.n_clients >= self._most_clients:
            await refuse(socket, f"{self._most_clients} pages look at this server already; close one")
            return
        await socket.accept()
        stage = self._stages.setdefault(run, Stage(run, self._share))
        client = Client(socket)
        stage.join(client)
        sender = asyncio.create_task(client.pass_on())
        try:
            while True:
                client.hear(await socket.receive_text(), stage.n_envs)
        except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: it sent bytes
            pass
        finally:
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await sender
            stage.leave(client)
            if not stage.clients:
                self._stages.pop(run, None)
