"""One run that clients look at: attached to its training while there is one, with a pump that asks, takes and sends."""

from __future__ import annotations

import asyncio
import json
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from parcade.errors import RunError
from parcade.host.cores import usable_cores
from parcade.view.attached import Attached, attach
from parcade.view.budget import Budget
from parcade.view.page.asked_policy import Rows
from parcade.view.page.client import Client
from parcade.view.page.live_values import LiveValues
from parcade.view.page.pictures import Pictures
from parcade.view.page.seen_maps import SeenMaps
from parcade.view.page.telling import Outcomes, detail_of, pictures_of, status_of
from parcade.view.page.visits import Visits, told_text, visits_message

SEEN = 2  # the kind of a message that holds what the policy sees
STATUS_S, LOOK_S, MAP_S = 0.4, 1.0, 0.5  # between two words about all slots, looks after the training, maps
SILENCE_S = 60.0  # a client that answers nothing for so long is gone
_EXPLORERS = 4  # games drawn for a map in one turn
_SEEN_HEAD = struct.Struct("<BBxxI")
_SEEN_LEAF = struct.Struct("<HHHH")


class Show:
    """What is known of a training that runs: it begins and ends with the attachment."""

    def __init__(self, attached: Attached, run: Path) -> None:
        self.attached = attached
        self.pictures, self.outcomes = Pictures(), Outcomes(attached)
        self.visits, self.seen_maps = Visits(attached, run), SeenMaps()
        self.details: dict[int, int] = {}  # slot -> number of the details taken last
        self.explorer = 0  # the slot whose picture is laid on its map next
        self.values = LiveValues(run)
        self.unvalued: dict[int, Rows] = {}  # slot -> what its policy saw, where that left no value


class Stage:
    """Without clients nothing is asked for and nothing is mapped."""

    def __init__(self, run: Path, share: float | None = None) -> None:
        self._run = run
        self.clients: list[Client] = []
        self.show: Show | None = None
        self._budget = Budget(usable_cores()) if share is None else Budget(usable_cores(), share)
        self._pump: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # held here, or they could be collected before they end
        self._why = ""  # the training cannot be watched
        self._last = dict.fromkeys(("look", "status", "map"), -10.0)

    @property
    def n_envs(self) -> int:
        """Slots of the training, 0 without one."""
        return 0 if self.show is None else self.show.attached.n_envs

    def join(self, client: Client) -> None:
        """Begin to serve a client."""
        self.clients.append(client)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run_pump())

    def leave(self, client: Client) -> None:
        """Serve it no more."""
        self.clients.remove(client)

    async def _run_pump(self) -> None:
        try:
            while self.clients:
                started_s, cpu_s = time.monotonic(), time.process_time()
                spent_s = self._turn()
                await asyncio.sleep(0)  # what was sent goes out now, and counts
                self._budget.spend(time.process_time() - cpu_s, spent_s)
                await asyncio.sleep(max(0.0, self._budget.period_s - (time.monotonic() - started_s)))
                await self._drop_silent()
        finally:
            self._end_show()

    def _is_time(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now - self._last[what] < every_s:
            return False
        self._last[what] = now
        return True

    def _turn(self) -> float:
        """Take what is new, hand it out, ask for more; return what the pictures cost the workers."""
        if self._is_time("look", LOOK_S):
            self._follow_training()
        show = self.show
        for client in [client for client in self.clients if not client.is_told]:
            client.is_told = True
            client.send(self._first_words() if show is None else _about(show.attached))
        if show is None:
            return 0.0
        if self._is_time("status", STATUS_S):
            show.outcomes.look()
            self._tell_all(json.dumps(status_of(show.attached, show.outcomes)))
        if any(client.map is not None for client in self.clients) and self._is_time("map", MAP_S):
            self._show_maps(show)
        return self._show_games(show)

    def _first_words(self) -> str:
        """Return what a client hears where nothing can be shown."""
        return json.dumps({"kind": "problem", "words": self._why} if self._why else {"kind": "over"})

    def _show_games(self, show: Show) -> float:
        attached, pictures = show.attached, show.pictures
        ready = [client for client in self.clients if client.has_room]
        details = sorted({client.detail for client in ready if client.detail is not None})
        wanted = {slot for client in ready for slot in client.wanted}
        explorers = self._explorers(show)
        slots = sorted(wanted | set(explorers))
        news = pictures.collect(attached.showcase, slots)
        _draw_observations(show, [slot for slot in news if not pictures.has(slot)])
        told = {slot: _news_of(show, slot) for slot in {*details, *explorers}}
        for client in ready:
            message = pictures.message(sorted(client.wanted), client.sent)
            alone = [] if client.detail is None else told.get(client.detail, [])
            for part in alone if message is None else [message, *alone]:
                client.send(part)
        self._value_games(show, details)
        _ask(attached, slots, sorted({*details, *explorers}))
        return float(attached.showcase.arrays["cost_us"][news].sum()) * 1e-6 if news else 0.0

    def _value_games(self, show: Show, details: list[int]) -> None:
        """Have the games that somebody looks at valued where their policy does not do that itself."""
        waiting = {slot: rows for slot, rows in show.unvalued.items() if slot in details}
        show.unvalued.clear()
        for slot, rows in waiting.items():
            task = asyncio.create_task(self._value_game(show, slot, rows))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if all(client.detail is None for client in self.clients):
            show.values.close()

    async def _value_game(self, show: Show, slot: int, rows: Rows) -> None:
        found = await show.values.value(rows, int(show.attached.told["env_steps"][0]))
        for client in self.clients:
            if found is not None and client.detail == slot:
                client.send(json.dumps({"kind": "value", "slot": slot, **found}))

    def _explorers(self, show: Show) -> list[int]:
        """Return games to be drawn for their map, in turn, where maps are put together from what is seen."""
        is_wanted = any(client.map is not None for client in self.clients)
        if not is_wanted or show.attached.about.get("maps") != "seen":
            return []
        first, n_envs = show.explorer, self.n_envs
        show.explorer = (first + _EXPLORERS) % n_envs
        return sorted({(first + offset) % n_envs for offset in range(min(_EXPLORERS, n_envs))})

    def _show_maps(self, show: Show) -> None:
        show.visits.look()
        for client in self.clients:
            if client.map is not None and client.has_room:
                client.send(told_text(show.visits.places, client.map))
                message = visits_message(show.visits.places, client.map)
                if message is not None:
                    client.send(message)

    def _follow_training(self) -> None:
        """Attach to a training that has begun, and let one go that is over."""
        if self.show is not None:
            if self.show.attached.is_alive():
                return
            self._end_show()
            for client in self.clients:
                client.is_told = False
        try:
            attached = attach(self._run)
        except RunError as error:
            self._complain(str(error))
            return
        if self._why:
            self._why = ""
            for client in self.clients:
                client.is_told = False
        if attached is not None:
            self.show = Show(attached, self._run)
            for client in self.clients:
                client.sent.forget()
                client.is_told = False

    def _complain(self, why: str) -> None:
        if why != self._why:
            self._why = why
            self._tell_all(json.dumps({"kind": "problem", "words": why}))

    def _tell_all(self, text: str) -> None:
        for client in self.clients:
            client.send(text)

    async def _drop_silent(self) -> None:
        now = time.monotonic()
        for client in [client for client in self.clients if now - client.heard_s > SILENCE_S]:
            await client.hang_up()

    def _end_show(self) -> None:
        if self.show is not None:
            self.show.values.close()
            self.show.attached.close()
            self.show = None


def _ask(attached: Attached, slots: list[int], details: list[int]) -> None:
    """Ask for what was not asked for yet, or was answered since."""
    arrays = attached.showcase.arrays
    wanted = [slot for slot in slots if arrays["asked"][slot] == arrays["answered"][slot]]
    deep = [slot for slot in details if arrays["detail_asked"][slot] == arrays["detail_answered"][slot]]
    if wanted or deep:
        attached.showcase.ask(wanted, deep)


def _draw_observations(show: Show, slots: list[int]) -> None:
    """Show what the policy sees of an env that draws nothing."""
    for slot in slots:
        number, row = show.pictures.moments[slot]
        block = show.attached.blocks[min(number, len(show.attached.blocks) - 1)]
        for planes in pictures_of(block, min(row, block.n_steps - 1) + 1, slot).values():
            show.pictures.put_planes(slot, planes, int(show.attached.about.get("channels", 1)))
            break


def _news_of(show: Show, slot: int) -> list[str | bytes]:
    """Return what is new about one slot, for whoever looks at it alone; its picture may belong on a map."""
    found = show.attached.showcase.detail(slot, show.details.get(slot, 0))
    if found is None:
        return []
    show.details[slot], text = found
    try:
        told = detail_of(show.attached, slot, text)
    except (ValueError, LookupError, TypeError):  # torn, or of another version
        return []
    _lay_on_map(show, slot, told)
    block = show.attached.blocks[min(int(told.get("block", 0)), len(show.attached.blocks) - 1)]
    row = min(max(0, int(told.get("row", 0))), block.n_steps - 1)
    if told["value"] is None:
        show.unvalued[slot] = {leaf: rows[row, slot].copy() for leaf, rows in block.obs.items()}
    seen = pictures_of(block, row + 1, slot)
    return [json.dumps(told), *([seen_message(slot, seen)] if seen else [])]


def _lay_on_map(show: Show, slot: int, told: dict[str, Any]) -> None:
    """Lay a picture on its map where both are of the same step."""
    if show.attached.about.get("maps") != "seen" or not told.get("screen"):
        return
    picture = show.pictures.picture(slot)
    if picture is not None and show.pictures.moments.get(slot) == (told.get("block"), told.get("row")):
        name, left, top, height = told["screen"]
        show.seen_maps.add(str(name), int(left), int(top), picture[: int(height)])


def _about(attached: Attached) -> str:
    hidden = ("status", "blocks", "showcase", "told")
    told = {name: value for name, value in attached.about.items() if name not in hidden}
    return json.dumps({"kind": "about", **told})


def seen_message(slot: int, seen: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """Return what the policy sees as one message: of each leaf its planes, height and width, then all pixels."""
    heads = b"".join(_SEEN_LEAF.pack(slot, *planes.shape) for planes in seen.values())
    pixels = b"".join(planes.tobytes() for planes in seen.values())
    return _SEEN_HEAD.pack(SEEN, len(seen), slot) + zlib.compress(heads + pixels, 1)
