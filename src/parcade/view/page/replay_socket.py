"""The websocket of a replay: the page says play, pause, seek, step and save; pictures and facts go back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import time
from pathlib import Path
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from parcade.errors import ParcadeError
from parcade.view.page.asked_policy import OPENING, READY
from parcade.view.page.hub import refuse
from parcade.view.page.pictures import Pictures, Sent
from parcade.view.page.replaying import ReplaySession
from parcade.view.page.stage import seen_message

MOST_REPLAYS = 4
MOST_PER_S = 20.0  # pictures
FASTEST = 64.0
SILENCE_S = 600.0  # a replay that nobody steers for so long ends
_WINDOW = 2
_LONGEST_NAME = 200


class Replays:
    """All replays of a server."""

    def __init__(self) -> None:
        self._free = MOST_REPLAYS

    async def serve(self, socket: WebSocket, run: Path, number: int) -> None:
        """Serve one replay until its socket is closed."""
        if not self._free:
            await refuse(socket, f"{MOST_REPLAYS} episodes are being replayed already; close one")
            return
        await socket.accept()
        self._free -= 1
        try:
            await _serve(socket, run, number)
        finally:
            self._free += 1


async def _serve(socket: WebSocket, run: Path, number: int) -> None:
    try:
        session = await asyncio.to_thread(ReplaySession, run, number)
    except ParcadeError as error:
        await _complain(socket, str(error))
        return
    try:
        await _ReplayLoop(socket, session).run()
    except (WebSocketDisconnect, RuntimeError, KeyError):
        pass
    finally:
        await asyncio.to_thread(session.close)


async def _complain(socket: WebSocket, words: str) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.send_text(json.dumps({"kind": "problem", "words": words}))
        await socket.close(1011)


class _ReplayLoop:
    """Follows what a page asks for, and notes how far it is."""

    def __init__(self, socket: WebSocket, session: ReplaySession) -> None:
        self._socket, self._session = socket, session
        self._pictures, self._sent = Pictures(), Sent()
        self._is_playing, self._speed = False, 1.0
        self._target = 0.0  # where it should be, in steps
        self._acknowledged = 0
        self._heard_s = time.monotonic()
        self._policy_told: dict[str, Any] | None = None
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=64)

    async def run(self) -> None:
        """Obey until the socket is closed."""
        await self._socket.send_text(json.dumps(self._session.about()))
        listening = asyncio.create_task(self._listen())
        try:
            await self._show()
            while time.monotonic() - self._heard_s < SILENCE_S:
                await self._turn(listening)
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await listening

    async def _listen(self) -> None:
        while True:
            text = await self._socket.receive_text()
            self._heard_s = time.monotonic()
            with contextlib.suppress(ValueError, RecursionError):
                said = json.loads(text)
                if isinstance(said, dict):
                    await self._said.put(said)

    async def _turn(self, listening: asyncio.Task[None]) -> None:
        """Take what was said, move on if it plays, and show where it is."""
        started = time.monotonic()
        period = 1.0 / MOST_PER_S
        has_moved = False
        with contextlib.suppress(asyncio.TimeoutError):
            first = await asyncio.wait_for(self._said.get(), period if self._is_playing else 0.5)
            for said in [first, *(self._said.get_nowait() for _ in range(self._said.qsize()))]:
                has_moved = await self._obey(said) or has_moved
        if listening.done():
            listening.result()
        await self._tell_policy()
        if self._is_playing and self._sent.number - self._acknowledged < _WINDOW:
            self._target += (time.monotonic() - started) * self._speed / self._session.step_s
            has_moved = True
        if has_moved and math.floor(self._target) != self._session.position:
            await asyncio.to_thread(self._session.go_to, math.floor(self._target))
            await self._show()
            rest = period - (time.monotonic() - started)
            await asyncio.sleep(max(0.0, rest) if self._is_playing else 0.0)
        if self._is_playing and self._session.position >= self._session.length:
            self._is_playing = False

    async def _tell_policy(self) -> None:
        """Say what became of the policy that is asked, if that is new; one that is there now is asked about here."""
        policy = self._session.policy
        if policy.about is self._policy_told:
            return
        self._policy_told = policy.about
        await self._socket.send_text(json.dumps({"kind": "policy", **policy.about}))
        if policy.state == READY:
            await asyncio.to_thread(self._session.look_again)
            await self._show()

    async def _obey(self, said: dict[str, Any]) -> bool:
        """Take one message; return whether another moment may be wanted."""
        if type(said.get("ack")) is int:
            self._acknowledged = min(max(self._acknowledged, said["ack"]), self._sent.number)
        if type(said.get("speed")) in (int, float) and math.isfinite(said["speed"]):
            self._speed = min(FASTEST, max(0.05, float(said["speed"])))
        if isinstance(said.get("play"), bool):
            self._is_playing = said["play"]
            if self._is_playing and self._session.position >= self._session.length:
                self._target = 0.0
        if type(said.get("seek")) is int:
            self._target = float(min(max(0, said["seek"]), self._session.length))
        if said.get("step") in (1, -1):
            self._is_playing = False
            self._target = float(min(max(0, self._session.position + said["step"]), self._session.length))
        if isinstance(said.get("policy"), str) and self._session.policy.state != OPENING:
            self._session.policy.choose(said["policy"][:_LONGEST_NAME])
        if said.get("save") is True:
            await self._save()
        return True

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self._session.go_to, math.floor(self._target))
            path = await asyncio.to_thread(self._session.save_moment)
            told = {"kind": "saved", "path": os.path.relpath(path)}
        except ParcadeError as error:
            told = {"kind": "problem", "words": str(error)}
        await self._socket.send_text(json.dumps(told))

    async def _show(self) -> None:
        session, pictures = self._session, self._pictures
        pictures.tick += 1
        pictures.put(0, await asyncio.to_thread(session.picture))
        message = pictures.message([0], self._sent)
        if message is not None:
            await self._socket.send_bytes(message)
        moment = await asyncio.to_thread(session.moment)
        await self._socket.send_text(json.dumps({**moment, "is_playing": self._is_playing, "speed": self._speed}))
        seen = session.seen()
        if seen:
            await self._socket.send_bytes(seen_message(0, seen))
