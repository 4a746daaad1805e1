"""Notices workers' deaths, names them, starts the workers again and brings their slots back."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import cloudpickle

from parcade import errors
from parcade.errors import EnvError, PoolError, UserError
from parcade.pool.grouping import GroupedRows
from parcade.pool.launching import Launcher, Seat
from parcade.pool.lifecycle import (
    BEING_MADE,
    IN_RESET,
    Answered,
    Cause,
    Died,
    GiveUp,
    Place,
    Restart,
    advance,
    cause_of_exit,
)
from parcade.pool.slab import Slab
from parcade.pool.stepping import Actions
from parcade.pool.stretch import Stretch
from parcade.pool.worker import STRETCH, Call, Finish, Restore, Settle, SlotPlan, WorkerOrders

log = logging.getLogger("parcade.pool")
GLANCE_S = 0.2  # how long a wait lasts before the process is looked at


class WorkerDiedError(Exception):
    """Inside the pool only: a worker was found dead, or hung for ``hung_s`` seconds."""

    def __init__(self, hung_s: float | None = None) -> None:
        self.hung_s = hung_s


class Supervisor:
    """The actor around ``lifecycle.advance``; one per pool."""

    def __init__(
        self,
        orders: list[WorkerOrders],
        *,
        start_method: str,
        budget: int,
        step_deadline_s: float,
        start_deadline_s: float,
    ) -> None:
        self.seats = [Seat(order) for order in orders]
        self.restarts: list[str] = []  # every death in words
        self.cut_episodes = 0
        self.attributes: dict[int, dict[str, bytes]] = {}  # slot -> what the user set in its env, cloudpickled
        self._poisoned: set[tuple[int, int]] = set()  # (slot, episode) whose reset kills
        self._cuts: dict[tuple[int, int], int] = {}  # (slot, episode) -> the step that kills
        self.stretch: Stretch | None = None  # under way: the slots play by themselves
        self._begun = False  # whether the slots' present observations were handed out
        self._slab: Slab | None = None
        self._groups: GroupedRows | None = None
        self._launcher = Launcher(self.seats, start_method, step_deadline_s)
        self._budget = budget
        self._step_deadline_s, self._start_deadline_s = step_deadline_s, start_deadline_s

    def start_all(self) -> tuple[Any, Any, tuple[str, ...]]:
        """Start every worker; return the observation space, action space and metric names of the env."""
        for seat in self.seats:
            self._launcher.launch(seat)
        packed = self._until_alive(self.seats[0], "spaces")
        spaces: tuple[Any, Any, tuple[str, ...]] = cloudpickle.loads(packed)
        return spaces

    def hand_over(self, slab: Slab, groups: GroupedRows) -> None:
        """Give the workers their slab; on return all envs are made."""
        self._slab, self._groups = slab, groups
        for seat in self.seats:
            seat.orders = replace(seat.orders, slab_path=str(slab.path), layout=slab.layout)
            with contextlib.suppress(OSError):  # dead already: found out below
                seat.tell((str(slab.path), slab.layout))
        for seat in self.seats:
            self._until_alive(seat, "ready")

    def _until_alive(self, seat: Seat, word: str) -> Any:
        """Wait for a starting worker. An env that cannot be made is an error of the user's, told at once."""
        while True:
            try:
                return self._await_word(seat, word, self._start_deadline_s)
            except WorkerDiedError as death:
                cause, place = self._autopsy(seat, death.hung_s)
                if cause.kind in ("raised", "memory"):
                    raise self._as_user_error(seat, cause) from None
                order = self._decide(seat, cause, place)
                time.sleep(order.pause_s)
                self._launcher.launch(seat)

    def _as_user_error(self, seat: Seat, cause: Cause) -> UserError:
        told = self._as_told(seat)
        if told is not None:
            return told
        limit = seat.orders.memory_limit_mb
        hint = f"; its memory limit is {limit} MB" if cause.kind == "memory" and limit else ""
        return EnvError(f"the env {seat.orders.spec.label!r} cannot be made: it {cause.words}{hint}")

    def _as_told(self, seat: Seat) -> UserError | None:
        """Return what the worker raised, where it is an error of ours for users."""
        assert seat.told is not None
        _, name, text, _ = seat.told
        known = getattr(errors, name, None)
        return known(text) if isinstance(known, type) and issubclass(known, UserError) else None

    def settle_all(self) -> None:
        """Wait until no worker has anything left to do, whatever was rung; what the slots were told is forgotten.

        A worker that dies meanwhile is found by ``begin_all``, which brings every slot anew.
        """
        for seat in self.seats:
            with contextlib.suppress(WorkerDiedError):
                self._command(seat, Settle())
                self._await_word(seat, "settled", self._step_deadline_s)
                seat.forget_bells()

    def begin_all(self, run_seed: int) -> None:
        """Bring every slot to where the journal says, from any state; no step is under way."""
        self._begun = False
        self._cuts.clear()
        if run_seed != self.seats[0].orders.run_seed:
            self._poisoned.clear()
        for seat in self.seats:
            seat.orders = replace(seat.orders, run_seed=run_seed)
            with contextlib.suppress(WorkerDiedError):
                self._command(seat, self._plan(seat)[0])
        for seat in self.seats:
            try:
                self._await_word(seat, "restored", self._step_deadline_s)
            except WorkerDiedError as death:
                self.recover(seat, (), death.hung_s)
        self._begun = True

    def recover(self, seat: Seat, pending: Collection[int], hung_s: float | None = None) -> None:
        """Bring a dead (or hung) worker's slots back exactly; ``pending``: what it has not answered, groups or STRETCH.

        Returns when the worker lives, stands where it stood and works on what is pending again.
        """
        while True:
            cause, place = self._autopsy(seat, hung_s)
            if self.stretch is not None and place is None and cause.kind == "raised":  # it would again
                raise self._as_told(seat) or PoolError(f"the player {cause.words}")
            order = self._decide(seat, cause, place)
            time.sleep(order.pause_s)
            try:
                self._launcher.launch(seat)
                self._await_word(seat, "ready", self._start_deadline_s)
                restore, unfinished = self._plan(seat)
                self._command(seat, restore)
                self._await_word(seat, "restored", self._step_deadline_s)
                if STRETCH in pending:
                    self.play(seat)
                    return
                for group in pending:
                    mine = tuple(slot for slot in unfinished if slot % seat.orders.n_groups == group)
                    self._command(seat, Finish(group, mine))
                return
            except WorkerDiedError as death:
                hung_s = death.hung_s

    def play(self, seat: Seat) -> None:
        """Send a worker into the stretch under way, or back into it."""
        assert self.stretch is not None
        self._command(seat, self.stretch.command(seat.orders.worker))

    def _plan(self, seat: Seat) -> tuple[Restore, list[int]]:
        """Return where each slot goes back to, its last complete row, and which slots have a step to finish."""
        plans, unfinished = {}, []
        for slot in seat.orders.slots:
            if self.stretch is not None:
                plans[slot] = self._slot_plan(slot, *self.stretch.place(slot, seat.orders.worker), was_seen=True)
                continue
            plans[slot], has_step = self._plan_slot(slot, slot % seat.orders.n_groups)
            if has_step:
                unfinished.append(slot)
        attributes = {slot: self.attributes[slot] for slot in plans if slot in self.attributes}
        return Restore(seat.orders.run_seed, plans, frozenset(self._poisoned), attributes), unfinished

    def _plan_slot(self, slot: int, group: int) -> tuple[SlotPlan, bool]:
        assert self._groups is not None
        assert self._slab is not None
        journal, arrays = self._groups.journal, self._slab.arrays
        episode, steps = int(journal.episode[slot]), int(journal.length[slot])
        unfinished, was_seen = False, self._begun
        if self._groups.under_way[group]:
            if int(arrays["steps_done"][slot]) < self._groups.steps_sent[group]:
                unfinished = True
                steps -= 1
            elif arrays["terminated"][slot] or arrays["truncated"][slot]:
                # Its step is complete and ended the episode; recv has not handed it out yet.
                episode, steps, was_seen = int(arrays["episode"][slot]), 0, False
        return self._slot_plan(slot, episode, journal.actions(slot, steps), was_seen), unfinished

    def _slot_plan(self, slot: int, episode: int, actions: Actions, was_seen: bool) -> SlotPlan:
        """Return the way to where these actions lead, or to the last place on it that does not kill."""
        if (slot, episode) in self._poisoned:  # its reset worked once and kills now: the episode cannot be brought back
            return SlotPlan(episode, _first(actions, 0), doomed=was_seen)
        if (slot, episode) in self._cuts:
            return SlotPlan(episode, _first(actions, self._cuts[slot, episode]), doomed=True)
        return SlotPlan(episode, actions)

    def _command(self, seat: Seat, command: Any) -> None:
        try:
            seat.command(command)
        except BlockingIOError:
            raise WorkerDiedError(self._step_deadline_s) from None
        except OSError:
            raise WorkerDiedError from None

    def call(self, seat: Seat, command: Call) -> tuple[str, Any]:
        """Send a call to an idle worker and return its answer."""
        self._command(seat, command)
        answered: tuple[str, Any] = cloudpickle.loads(self._await_word(seat, "answer", self._step_deadline_s))
        return answered

    def _await_word(self, seat: Seat, word: str, deadline_s: float) -> Any:
        """Wait for an answer as long as the worker's heart beats; return what came with it."""
        last, since = self._beats(seat), time.monotonic()
        while True:
            if seat.has_word(GLANCE_S):
                try:
                    said, serial, payload = seat.hear()
                except BlockingIOError:
                    raise WorkerDiedError(self._step_deadline_s) from None
                except (EOFError, OSError):
                    raise WorkerDiedError from None
                if said == "raised":
                    seat.told = payload
                    raise WorkerDiedError
                if said == word and serial == seat.serial:
                    return payload
                continue
            beats = self._beats(seat)
            if beats != last:
                last, since = beats, time.monotonic()
            elif not seat.process.is_alive() and not seat.has_word(0):
                raise WorkerDiedError
            elif time.monotonic() - since > deadline_s:
                raise WorkerDiedError(deadline_s)

    def _beats(self, seat: Seat) -> int:
        return 0 if self._slab is None else int(self._slab.arrays["beats"][seat.orders.worker])

    def _decide(self, seat: Seat, cause: Cause, place: Place | None) -> Restart:
        if self.stretch is not None:
            seat.batches += self.stretch.newly_taken(seat.orders.worker)
        if seat.batches:
            seat.life, _ = advance(seat.life, Answered(seat.batches), self._budget)
            seat.batches = 0
        seat.life, order = advance(seat.life, Died(cause, place), self._budget)
        words = self._words(seat, cause, place)
        if isinstance(order, GiveUp):
            deaths = "died once" if seat.life.strikes == 1 else f"died {seat.life.strikes} times in a row"
            raise PoolError(f"{words}; it {deaths}, and {self._budget} restarts are allowed")
        assert isinstance(order, Restart)
        if order.cut is not None:
            self._cut(order.cut)
            words += "; the same step killed it before, so the episode is truncated there"
        else:
            words += f"; restored exactly ({seat.life.strikes} of {self._budget} restarts used)"
        self.restarts.append(words)
        log.warning("%s", words)
        return order

    def _cut(self, place: Place) -> None:
        episode = (place.slot, place.episode)
        if episode not in self._cuts and episode not in self._poisoned:
            self.cut_episodes += 1
        if place.step == IN_RESET:
            self._poisoned.add(episode)
        else:
            self._cuts[episode] = min(place.step, self._cuts.get(episode, place.step))

    def _words(self, seat: Seat, cause: Cause, place: Place | None) -> str:
        slots = seat.orders.slots
        where = ""
        if place is not None:
            step = "its reset" if place.step == IN_RESET else f"step {place.step}"
            where = f" in slot {place.slot} at {step} of episode {place.episode} of {seat.orders.spec.label!r}"
            if place.step == BEING_MADE:
                where = f" while the env {seat.orders.spec.label!r} of slot {place.slot} was being made"
        pid = seat.process.pid
        return f"worker {seat.orders.worker} (slots {slots.start}-{slots.stop - 1}, pid {pid}) {cause.words}{where}"

    def _autopsy(self, seat: Seat, hung_s: float | None) -> tuple[Cause, Place | None]:
        """Make sure the process is gone; return why it died and in which slot."""
        exit_code = seat.bury(kill_now=hung_s is not None)
        place = self._last_place(seat)
        if hung_s is not None:
            return Cause("hang", f"did not move for {hung_s:g} s and was killed", True), place
        if seat.told is not None:
            kind, name, text, trace = seat.told
            log.debug("%s", trace)
            return Cause(kind, f"raised {name}: {text}" if text else f"raised {name}"), place
        return cause_of_exit(exit_code), place

    def _last_place(self, seat: Seat) -> Place | None:
        if self._slab is None:
            return None
        arrays, worker = self._slab.arrays, seat.orders.worker
        slot = int(arrays["current_slot"][worker])
        arrays["current_slot"][worker] = -1  # the next life may end before it can say where it is
        return None if slot < 0 else Place(slot, int(arrays["episode"][slot]), int(arrays["running_length"][slot]))

    def close(self, deadline_s: float = 5.0) -> None:
        """End all workers: ask by closing the bell, then kill."""
        for seat in self.seats:
            seat.hang_up()
        until = time.monotonic() + deadline_s
        for seat in self.seats:
            if seat.process is not None:
                seat.process.join(max(0.0, until - time.monotonic()))
        late = [seat for seat in self.seats if seat.process is not None and seat.process.is_alive()]
        for seat in late:
            seat.process.kill()
        until = time.monotonic() + deadline_s
        for seat in self.seats:
            if seat.process is not None:
                seat.process.join(max(0.0, until - time.monotonic()))
                with contextlib.suppress(ValueError):  # the kernel itself holds it; nothing more can be done
                    seat.process.close()
                seat.process = None


def _first(actions: Actions, steps: int) -> Actions:
    return {leaf: rows[:steps] for leaf, rows in actions.items()}
