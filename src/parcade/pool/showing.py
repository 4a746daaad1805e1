"""What a worker does for viewers: draws where one asked, notes where its slots are. Nobody asks: one comparison a step.

A worker looks at the showcase's count of requests once a step for each tile of slots. Only when it has grown, the tile
looks at its slots' questions, has those games drawn that were asked for, and lays their pictures down behind the step.
"""

from __future__ import annotations

import contextlib
import json
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from parcade.env.exhibit import Exhibit, exhibit_of
from parcade.env.slot import SlotEnv
from parcade.env.title_guard import FUNCTIONS, TitleGuard
from parcade.pool.showcase import Showcase

PLACE_EVERY = 16  # steps between two places of a trail
STRIP = 120  # steps whose reward parts are kept for a game in detail
_FOLLOWED = 2000  # steps a game's parts are noted after somebody asked for its details
_PLACE = struct.Struct("<hhh")
_SIDE = 1 << 15


class ShownRunner(Protocol):
    """What is needed of a slot's runner."""

    env: SlotEnv
    slot: int

    def is_fresh(self) -> bool:
        """Whether an episode has just begun."""
        ...

    def progress(self) -> dict[str, Any]:
        """Return number, seed, steps and return of the episode under way."""
        ...


class Showing:
    """One worker's part of the showcase."""

    def __init__(self, showcase: Showcase, worker: int, slots: range) -> None:
        self.showcase, self._worker = showcase, worker
        self.n_requests: Any = showcase.arrays["n_requests"].data
        numbers = {name: array.data for name, array in showcase.arrays.items() if array.ndim == 1}
        self._asked, self._answered = numbers["asked"], numbers["answered"]
        self._detail_asked, self._detail_answered = numbers["detail_asked"], numbers["detail_answered"]
        self._draws, self._cost = numbers["draws"], numbers["cost_us"]
        # A life of this worker ended in the middle of an env's own drawing: it shows what the policy sees from now on.
        self._has_died = any(self._draws[slot] for slot in slots)
        self._trail: Any = showcase.arrays["trail"].data.cast("B") if showcase.trail_length else None
        self._trail_end = numbers["trail_end"]
        self._maps = {name: number for number, name in enumerate(showcase.map_names(worker))}
        self._exhibits: dict[int, Exhibit] = {}
        self._guard: TitleGuard | None = None  # of the title, for all slots
        self._title_asked = numbers["title_asked"]
        self._strips: dict[int, deque[tuple[int, float, dict[str, float]]]] = {}
        self._followed: dict[int, int] = {}  # slot -> steps for which its parts are still noted
        self._n_seen = 0
        self._is_broken = False  # the showcase cannot be written any more

    def is_watched(self) -> bool:
        """Whether anybody has asked for anything since this was last asked."""
        before, self._n_seen = self._n_seen, self.n_requests[0]
        return bool(before != self._n_seen)

    def tile(self, runners: Sequence[ShownRunner]) -> TileShowing:
        """Return what is done for the slots of one tile."""
        return TileShowing(self, runners)

    def exhibit(self, runner: ShownRunner) -> Exhibit:
        """Return how viewers see a slot's env."""
        found = self._exhibits.get(runner.slot)
        if found is None:
            found = self._exhibits[runner.slot] = exhibit_of(runner.env)
            found.use_guard(self._guard or self._make_guard())
            if self._has_died:
                found.give_up()
        return found

    def _make_guard(self) -> TitleGuard:
        """Return the guard of the worker's title; what a life before this one left out stays out."""
        guard = self._guard = TitleGuard("")
        guard.left_out.update(function for function, _ in self.showcase.faults(self._worker))
        guard.tell, guard.while_asked = self._add_fault, self._note_asked
        died_in = self._title_asked[self._worker]
        self._title_asked[self._worker] = 0
        if died_in:
            guard.leave_out(FUNCTIONS[died_in - 1], "ended its worker")
        return guard

    def _add_fault(self, function: str, why: str) -> None:
        self.showcase.add_fault(self._worker, function, why)

    def _note_asked(self, function: str) -> None:
        """Note what runs now: a function that kills, or does not return, is not asked again."""
        number = 0 if not function else 1 + FUNCTIONS.index(function if function in FUNCTIONS else "fields")
        self._title_asked[self._worker] = number

    def adopt(self, runners: Sequence[ShownRunner]) -> None:
        """Guard the titles of these slots: what only viewers need must not end the worker."""
        for runner in runners:
            self.exhibit(runner)

    def wants_picture(self, slot: int) -> bool:
        """Whether a viewer waits for a picture of the slot."""
        return bool(self._asked[slot] != self._answered[slot]) and not self._is_broken

    def wants_detail(self, slot: int) -> bool:
        """Whether a viewer waits for the slot's details."""
        return bool(self._detail_asked[slot] != self._detail_answered[slot]) and not self._is_broken

    def is_followed(self, slot: int) -> bool:
        """Whether the reward parts of the slot's steps are noted."""
        return slot in self._followed

    def lay_down(self, runner: ShownRunner, block: int, t: int) -> None:
        """Lay down the picture of the step just taken."""
        slot, exhibit = runner.slot, self.exhibit(runner)
        asked, started = self._asked[slot], time.perf_counter()
        if exhibit.draws_itself:
            self._draws[slot] = 1
            picture = exhibit.picture(slot in self._followed)
            self._draws[slot] = 0
        else:
            picture = exhibit.picture(slot in self._followed)
        with self._unless_broken():
            self.showcase.lay_picture(slot, picture, block, t)
        self._cost[slot] = int((time.perf_counter() - started + exhibit.extra_s) * 1e6)
        self._answered[slot] = asked

    def follow(self, runner: ShownRunner, t: int, reward: float) -> None:
        """Note the step's parts of a slot that somebody looks at alone."""
        slot = runner.slot
        self._strips[slot].append((int(runner.progress()["step"]), reward, self.exhibit(runner).parts()))
        self._followed[slot] -= 1
        if self._followed[slot] <= 0:
            del self._followed[slot], self._strips[slot]

    def lay_detail(self, runner: ShownRunner, block: int, t: int) -> None:
        """Lay down what is known of a slot, and note its parts from now on."""
        slot = runner.slot
        asked = self._detail_asked[slot]
        strip = self._strips.setdefault(slot, deque(maxlen=STRIP))
        self._followed[slot] = _FOLLOWED
        told = {"block": block, "row": t, **runner.progress(), **self.exhibit(runner).facts(), "strip": list(strip)}
        with self._unless_broken():
            self.showcase.lay_detail(slot, json.dumps(told).encode())
        self._detail_answered[slot] = asked

    @contextlib.contextmanager
    def _unless_broken(self) -> Any:
        """Show nothing any more once the showcase cannot be written, on a full disk say; the games play on."""
        try:
            yield
        except OSError:
            self._is_broken = True

    def note_place(self, runner: ShownRunner) -> None:
        """Add where a slot is to its trail."""
        place = self.exhibit(runner).place()
        if place is None:
            return
        name, x, y = place
        number = self._maps.get(name)
        if number is None:
            number = self._maps[name] = self.showcase.add_map(self._worker, name)
        if number < 0 or not (-_SIDE <= x < _SIDE and -_SIDE <= y < _SIDE):
            return
        slot, length = runner.slot, self.showcase.trail_length
        end = self._trail_end[slot]
        _PLACE.pack_into(self._trail, (slot * length + end % length) * _PLACE.size, number, x, y)
        self._trail_end[slot] = end + 1


class TileShowing:
    """The slots of one tile while they take a fragment."""

    def __init__(self, showing: Showing, runners: Sequence[ShownRunner]) -> None:
        self._showing, self._runners = showing, runners
        self._drawn: list[ShownRunner] = []
        self._in_detail: list[ShownRunner] = []
        trails = showing.showcase.trail_length > 0
        self.placed = [runner for runner in runners if trails and showing.exhibit(runner).has_places]

    def before(self) -> None:
        """Before a step that somebody may have asked for: have the games drawn that will be shown."""
        showing = self._showing
        self._drawn = [runner for runner in self._runners if showing.wants_picture(runner.slot)]
        self._in_detail = [
            runner for runner in self._runners if showing.wants_detail(runner.slot) or showing.is_followed(runner.slot)
        ]
        for runner in self._drawn:
            showing.exhibit(runner).draw_next(True)

    def after(self, block: int, t: int, rewards: Any) -> bool:
        """Behind that step: lay down what was asked for; return whether the next step has to be looked at too."""
        showing, again = self._showing, False
        for runner in self._drawn:
            showing.exhibit(runner).draw_next(False)
            if runner.is_fresh():
                again = True  # the episode ended with the step, and the next one's beginning may not be drawn
            else:
                showing.lay_down(runner, block, t)
        for runner in self._in_detail:
            if showing.is_followed(runner.slot) and not runner.is_fresh():
                showing.follow(runner, t, float(rewards[t, runner.slot]))
            if showing.wants_detail(runner.slot):
                showing.lay_detail(runner, block, t)
            again = again or showing.is_followed(runner.slot)
        return again

    def note_places(self) -> None:
        """Add where each slot is to its trail."""
        for runner in self.placed:
            self._showing.note_place(runner)
