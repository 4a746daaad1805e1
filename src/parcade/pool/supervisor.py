"""Notices workers' deaths, names them, starts the workers again and brings their slots back."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import cloudpickle

from parcade import errors
from parcade.errors import EnvError, PoolError, UserError
from parcade.pool.launcher import Launcher
from parcade.pool.lifecycle import (
    BEING_MADE,
    IN_RESET,
    Answered,
    Cause,
    DeathPlace,
    Died,
    GiveUp,
    Restart,
    advance,
    cause_of_exit,
)
from parcade.pool.progress import Progress
from parcade.pool.seeding import Episodes
from parcade.pool.stepping import Actions
from parcade.pool.worker import Announce, Attach, Call, Flush, Restore, SharedFile, SlotPlan, WorkerOrders
from parcade.pool.worker_handle import BURIAL_S, WorkerHandle

log = logging.getLogger("parcade.pool")
GLANCE_S = 0.2  # how long a wait lasts before the process is looked at
MANY_STEPS = 1_000  # of a dead worker's games: taking so many again may last, so it is said before
_EXACTLY = "; restored exactly"
SILENT_S = 5.0  # without progress, after which it is said
SILENT_START_S = 10.0  # the same while envs are made, which takes its time on a busy machine


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
        preload: tuple[str, ...] = (),
        forgives_cuts: bool = False,
    ) -> None:
        self.handles = [WorkerHandle(order) for order in orders]
        self.restarts: list[str] = []  # every death in words
        self.cut: set[tuple[int, int]] = set()  # (slot, episode) that were cut, or never begun
        self.attributes: dict[int, dict[str, bytes]] = {}  # slot -> what the user set in its env, cloudpickled
        self._poisoned: set[tuple[int, int]] = set()  # (slot, episode) whose reset kills
        self._cuts: dict[tuple[int, int], int] = {}  # (slot, episode) -> the step that kills
        self._progress: Progress | None = None
        self.while_waiting: Callable[[], None] = lambda: None
        self._launcher = Launcher(self.handles, start_method, step_deadline_s, preload)
        self._budget, self._forgives_cuts, self._is_inexact_told = budget, forgives_cuts, False
        self._step_deadline_s, self._start_deadline_s = step_deadline_s, start_deadline_s

    def start_all(self) -> tuple[Any, Any, tuple[str, ...]]:
        """Start every worker; return the observation space, action space and metric names of the env."""
        for handle in self.handles:
            self._launcher.launch(handle)
        packed = self._until_alive(self.handles[0], "spaces")
        spaces: tuple[Any, Any, tuple[str, ...]] = cloudpickle.loads(packed)
        return spaces

    def hand_over(self, status: SharedFile, attach: Attach, progress: Progress) -> None:
        """Give the workers what they write to; on return all envs are made."""
        self._progress = progress
        for handle in self.handles:
            handle.orders = replace(handle.orders, status=status, attach=attach)
            with contextlib.suppress(OSError):  # dead already: found out below
                handle.tell((status, attach))
        for handle in self.handles:
            self._until_alive(handle, "ready")

    def attach(self, attach: Attach) -> None:
        """Have all workers use other blocks; one that is dead finds them in its orders when it is started again."""
        for handle in self.handles:
            handle.orders = replace(handle.orders, attach=attach)
            with contextlib.suppress(WorkerDiedError):
                self._command(handle, attach)

    def announce(self, episodes: Episodes) -> None:
        """Tell all workers which episodes they begin from now on; one that is dead hears it when it is restored."""
        for handle in self.handles:
            handle.orders = replace(handle.orders, episodes=episodes)
            with contextlib.suppress(WorkerDiedError):
                self._command(handle, Announce(episodes))

    def _until_alive(self, handle: WorkerHandle, word: str) -> Any:
        """Wait for a starting worker. An env that cannot be made is an error of the user's, told at once."""
        while True:
            try:
                return self._await_word(handle, word, self._start_deadline_s)
            except WorkerDiedError as death:
                cause, place = self._autopsy(handle, death.hung_s)
                if cause.kind in ("raised", "memory"):
                    raise self._as_user_error(handle, cause) from None
                order = self._decide(handle, cause, place)
                self._tell("; restarted")
                time.sleep(order.pause_s)
                self._launcher.launch(handle)

    def _as_user_error(self, handle: WorkerHandle, cause: Cause) -> UserError:
        told = self._as_told(handle)
        if told is not None:
            return told
        limit = handle.orders.memory_limit_mb
        hint = f"; its memory limit is {limit} MB" if cause.kind == "memory" and limit else ""
        return EnvError(f"the env {handle.orders.spec.label!r} cannot be made: it {cause.words}{hint}")

    def _as_told(self, handle: WorkerHandle) -> UserError | None:
        """Return what the worker raised, where it is an error of ours for users."""
        assert handle.told is not None
        _, name, text, _ = handle.told
        known = getattr(errors, name, None)
        return known(text) if isinstance(known, type) and issubclass(known, UserError) else None

    def flush_all(self) -> None:
        """Wait until no worker has anything left to do, whatever was sent; what the slots were told is forgotten.

        A worker that dies meanwhile is found by ``begin_all``, which brings every slot anew.
        """
        for handle in self.handles:
            with contextlib.suppress(WorkerDiedError):
                self._command(handle, Flush())
                self._await_word(handle, "flushed", self._step_deadline_s)
                handle.forget_answers()

    def begin_all(self, episodes: Episodes) -> None:
        """Bring every slot to where the journal says, from any state; no step is under way."""
        self._cuts.clear()
        if episodes != self.handles[0].orders.episodes:
            self._poisoned.clear()
        for handle in self.handles:
            handle.orders = replace(handle.orders, episodes=episodes)
            with contextlib.suppress(WorkerDiedError):
                self._command(handle, self._plan(handle))
        for handle in self.handles:
            try:
                self._await_word(handle, "restored", self._step_deadline_s)
            except WorkerDiedError as death:
                self.recover(handle, (), death.hung_s)

    def recover(self, handle: WorkerHandle, pending: Collection[int], hung_s: float | None = None) -> None:
        """Bring a dead (or hung) worker's slots back exactly; ``pending``: groups whose fragments it has not finished.

        Returns when the worker lives, stands after the last step it had finished and goes on with what is pending.
        """
        while True:
            cause, place = self._autopsy(handle, hung_s)
            if place is None and cause.kind == "raised" and self.progress.has_actor(pending):  # it would again
                raise self._as_told(handle) or PoolError(f"the actor {cause.words}")
            order = self._decide(handle, cause, place)
            try:
                time.sleep(order.pause_s)
                self._launcher.launch(handle)
                self._await_word(handle, "ready", self._start_deadline_s)
                self._command(handle, self._plan(handle, tells=True))
                others = self._await_word(handle, "restored", self._step_deadline_s)
            except BaseException as error:
                self._tell("; it died again before it was restored" if isinstance(error, WorkerDiedError) else "")
                if not isinstance(error, WorkerDiedError):
                    raise
                hung_s = error.hung_s
                continue
            self._tell_restored(others, handle)
            try:
                for group in pending:
                    handle.send_fragment(self.progress.fragment(group))
                return
            except WorkerDiedError as death:
                hung_s = death.hung_s

    def _tell(self, outcome: str = _EXACTLY) -> None:
        """Say how a worker died, now that it is known what came of it."""
        self.restarts[-1] = self.restarts[-1].replace(_EXACTLY, outcome)
        log.warning("%s", self.restarts[-1])

    def _tell_restored(self, slots: list[int], handle: WorkerHandle) -> None:
        """Say that a worker is back; ``slots`` show something else than before, which is explained once."""
        if not slots:
            return self._tell()
        self.cut.update((slot, self.progress.place(slot).episode) for slot in slots)
        numbers = ", ".join(map(str, slots))
        names, episodes = f"slots {numbers}", f"the episodes of slots {numbers} are"
        if len(slots) == 1:
            names, episodes = f"slot {numbers}", f"the episode of slot {numbers} is"
        self._tell(f"; restored, but not exactly: {episodes} truncated")
        if not self._is_inexact_told:
            self._is_inexact_told = True
            log.warning(
                "%r is not a function of its seed and actions, so %s cannot be restored exactly after a death; "
                "episodes are truncated then",
                *(handle.orders.spec.label, names),
            )
        return None

    @property
    def progress(self) -> Progress:
        """How far the slots are."""
        assert self._progress is not None
        return self._progress

    def _plan(self, handle: WorkerHandle, *, tells: bool = False) -> Restore:
        """Return where each slot goes back to: behind the last step its worker has finished; a long way is told."""
        plans = {slot: self._slot_plan(slot) for slot in handle.orders.slots}
        steps = sum(len(next(iter(plan.actions.values()))) for plan in plans.values())
        if tells and steps >= MANY_STEPS:
            log.warning("worker %d died; its games take their last %d steps again", handle.orders.worker, steps)
        attributes = {slot: self.attributes[slot] for slot in plans if slot in self.attributes}
        return Restore(handle.orders.episodes, plans, frozenset(self._poisoned), attributes)

    def _slot_plan(self, slot: int) -> SlotPlan:
        """Return the way to where a slot stands, or to the last place on it that does not kill."""
        place, row, block = self.progress.place(slot), *self.progress.row(slot)
        key = slot, place.episode
        if key in self._poisoned:  # its reset worked once and kills now: the episode cannot be brought back
            return SlotPlan(place.episode, _first(place.actions, 0), block, row, doomed=place.was_seen)
        if key in self._cuts:
            return SlotPlan(place.episode, _first(place.actions, self._cuts[key]), block, row, doomed=True)
        recorded = place.total_reward if place.was_seen else None
        return SlotPlan(place.episode, place.actions, block, row, recorded=recorded)

    def _command(self, handle: WorkerHandle, command: Any) -> None:
        try:
            handle.command(command)
        except BlockingIOError:
            raise WorkerDiedError(self._step_deadline_s) from None
        except OSError:
            raise WorkerDiedError from None

    def call(self, handle: WorkerHandle, command: Call) -> None:
        """Send a call to an idle worker."""
        self._command(handle, command)

    def answers(self, handle: WorkerHandle) -> list[tuple[str, Any]]:
        """Return what a worker answered its last call, slot by slot."""
        found: list[tuple[str, Any]] = cloudpickle.loads(self._await_word(handle, "answer", self._step_deadline_s))
        return found

    def _await_word(self, handle: WorkerHandle, word: str, deadline_s: float) -> Any:
        """Wait for an answer as long as the worker's heart beats; return what came with it."""
        last, since = self._beats(handle), time.monotonic()
        while True:
            if handle.has_word(GLANCE_S):
                try:
                    said, serial, payload = handle.hear()
                except BlockingIOError:
                    raise WorkerDiedError(self._step_deadline_s) from None
                except (EOFError, OSError):
                    raise WorkerDiedError from None
                if said == "raised":
                    handle.told = payload
                    raise WorkerDiedError
                if said == word and serial == handle.serial:
                    return payload
                continue
            self.while_waiting()
            beats = self._beats(handle)
            if beats != last:
                last, since = beats, time.monotonic()
            elif not handle.process.is_alive() and not handle.has_word(0):
                raise WorkerDiedError
            elif time.monotonic() - since > deadline_s:
                raise WorkerDiedError(deadline_s)
            else:
                self.note_silence(handle, time.monotonic() - since, deadline_s)

    def note_silence(self, handle: WorkerHandle, silent_s: float, deadline_s: float) -> None:
        """Say once in a worker's life that one of its slots does not move, and what becomes of it."""
        watch = handle.orders.spec.watch
        if handle.silence_told or (watch is not None and watch.speed is not None):
            return
        worker, label = handle.orders.worker, handle.orders.spec.label
        if self._progress is None:  # the first env, of which nothing is known yet
            if silent_s >= SILENT_START_S:
                handle.silence_told = True
                words = "the env %r is being made since %.0f s (worker %d); after %g s it is given up"
                log.warning(words, label, silent_s, worker, deadline_s)
            return
        slot = int(self._progress.status["current_slot"][worker])
        if slot < 0:  # nothing was begun, or the actor takes its time
            return
        step = int(self._progress.status["running_length"][slot])
        if silent_s < (SILENT_START_S if step == BEING_MADE else SILENT_S):
            return
        handle.silence_told = True
        where = {BEING_MADE: "being made", IN_RESET: "in its reset"}.get(step, f"at step {step}")
        log.warning(
            "slot %d of %r makes no progress since %.0f s (worker %d, %s); after %g s it is restarted",
            *(slot, label, silent_s, worker, where, deadline_s),
        )

    def _beats(self, handle: WorkerHandle) -> int:
        return 0 if self._progress is None else int(self._progress.status["beats"][handle.orders.worker])

    def _decide(self, handle: WorkerHandle, cause: Cause, place: DeathPlace | None) -> Restart:
        taken = self._progress.newly_taken(handle.slots) if self._progress is not None else 0
        if taken:
            handle.life, _ = advance(handle.life, Answered(taken), self._budget)
        handle.life, order = advance(handle.life, Died(cause, place), self._budget)
        words = self._words(handle, cause, place)
        if isinstance(order, GiveUp):
            deaths = "died once" if handle.life.strikes == 1 else f"died {handle.life.strikes} times in a row"
            raise PoolError(f"{words}; it {deaths}, and {self._budget} restarts are allowed")
        assert isinstance(order, Restart)
        if order.cut is not None:
            self._cut(order.cut)
            if self._forgives_cuts:  # what killed it is out of the way
                handle.life = replace(handle.life, strikes=0)
            words += "; the same step killed it before, so the episode is truncated there"
        else:
            words += f"{_EXACTLY} ({handle.life.strikes} of {self._budget} restarts used)"
        self.restarts.append(words)
        return order

    def _cut(self, place: DeathPlace) -> None:
        episode = (place.slot, place.episode)
        self.cut.add(episode)
        if place.step == IN_RESET:
            self._poisoned.add(episode)
        else:
            self._cuts[episode] = min(place.step, self._cuts.get(episode, place.step))

    def _words(self, handle: WorkerHandle, cause: Cause, place: DeathPlace | None) -> str:
        slots, first = handle.orders.slots, handle.orders.spec.slot or 0  # of the whole training
        where = ""
        if place is not None:
            step = "its reset" if place.step == IN_RESET else f"step {place.step}"
            where = (
                f" in slot {first + place.slot} at {step} of episode {place.episode} of {handle.orders.spec.label!r}"
            )
            if place.step == BEING_MADE:
                where = f" while the env {handle.orders.spec.label!r} of slot {first + place.slot} was being made"
        pid = handle.process.pid
        named = f"slots {first + slots.start}-{first + slots.stop - 1}"
        return f"worker {handle.orders.worker} ({named}, pid {pid}) {cause.words}{where}"

    def _autopsy(self, handle: WorkerHandle, hung_s: float | None) -> tuple[Cause, DeathPlace | None]:
        """Make sure the process is gone; return why it died and in which slot."""
        exit_code = handle.bury(kill_now=hung_s is not None)
        place = self._last_place(handle)
        if hung_s is not None:
            return Cause("hang", f"did not move for {hung_s:g} s and was killed", True), place
        if handle.told is not None:
            kind, name, text, trace = handle.told
            log.debug("%s", trace)
            return Cause(kind, f"raised {name}: {text}" if text else f"raised {name}"), place
        return cause_of_exit(exit_code), place

    def _last_place(self, handle: WorkerHandle) -> DeathPlace | None:
        if self._progress is None:
            return None
        arrays, worker = self._progress.status, handle.orders.worker
        slot = int(arrays["current_slot"][worker])
        arrays["current_slot"][worker] = -1  # the next life may end before it can say where it is
        return None if slot < 0 else DeathPlace(slot, int(arrays["episode"][slot]), int(arrays["running_length"][slot]))

    def close(self, deadline_s: float) -> None:
        """End all workers: ask by closing the channels, then kill."""
        for handle in self.handles:
            handle.hang_up()
        until = time.monotonic() + deadline_s
        for handle in self.handles:
            if handle.process is not None:
                handle.process.join(max(0.0, until - time.monotonic()))
        late = [handle for handle in self.handles if handle.process is not None and handle.process.is_alive()]
        for handle in late:
            handle.process.kill()
        until = time.monotonic() + BURIAL_S
        for handle in self.handles:
            if handle.process is not None:
                handle.process.join(max(0.0, until - time.monotonic()))
                with contextlib.suppress(ValueError):  # the kernel itself holds it; nothing more can be done
                    handle.process.close()
                handle.process = None


def _first(actions: Actions, steps: int) -> Actions:
    return {leaf: rows[:steps] for leaf, rows in actions.items()}
