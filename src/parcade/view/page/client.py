"""One websocket: what it looks at, what it has, and what is on its way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

from starlette.websockets import WebSocket, WebSocketState

from parcade.view.page.pictures import Sent

WINDOW = 2  # messages with pictures that may be on their way to a client
MOST_SLOTS = 4096
_LONGEST_NAME = 200


class Client:
    """Belongs to one stage."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.slots: list[int] = []
        self.detail: int | None = None
        self.map: str | None = None  # the map it looks at; an empty name: at whichever there is
        self.sent = Sent()
        self.heard_s = time.monotonic()
        self.is_told = False  # whether it knows that there is a training, or none
        self._acknowledged = 0
        self._outgoing: asyncio.Queue[str | bytes] = asyncio.Queue(maxsize=16)

    @property
    def has_room(self) -> bool:
        """Whether it has answered enough to be sent more."""
        return self.sent.number - self._acknowledged < WINDOW and self._outgoing.qsize() < 4

    @property
    def wanted(self) -> set[int]:
        """The slots whose pictures it wants."""
        return {*self.slots, *(() if self.detail is None else (self.detail,))}

    def hear(self, text: str, n_envs: int) -> None:
        """Take a message: what is in view, which game is looked at alone, how far it is; nonsense is passed over."""
        self.heard_s = time.monotonic()
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(said, dict):
            return
        if type(said.get("ack")) is int:
            self._acknowledged = min(max(self._acknowledged, said["ack"]), self.sent.number)
        if isinstance(said.get("slots"), list):
            wanted = {slot for slot in said["slots"][:MOST_SLOTS] if type(slot) is int and 0 <= slot < n_envs}
            self.slots = sorted(wanted)
        if "detail" in said:
            slot = said["detail"]
            self.detail = slot if type(slot) is int and 0 <= slot < n_envs else None
        if "map" in said:
            self.map = said["map"][:_LONGEST_NAME] if isinstance(said["map"], str) else None

    def send(self, message: str | bytes) -> None:
        """Have a message sent; one that does not keep up loses it, and catches up later."""
        with contextlib.suppress(asyncio.QueueFull):
            self._outgoing.put_nowait(message)

    async def pass_on(self) -> None:
        """Send what there is to send, for as long as the socket is open."""
        while True:
            message = await self._outgoing.get()
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(message)

    async def hang_up(self) -> None:
        """Close the socket."""
        if self._socket.client_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, OSError):
                await self._socket.close(1001)
