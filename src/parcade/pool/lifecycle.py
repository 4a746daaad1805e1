"""When a worker dies: what is known of it, and what is done next. Pure, no process in sight."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace

from parcade.host.child_process import exit_words

HEALTHY_BATCHES = 100  # answers in a row after which earlier deaths are forgiven
PAUSES_S = (0.0, 0.1, 0.5, 2.0, 5.0)
OUTSIDE_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # sent by people and by the kernel
BEING_MADE, IN_RESET = -2, -1  # steps before the first one


@dataclass(frozen=True, slots=True)
class DeathPlace:
    """Where a slot stood when its worker died: its finished steps, IN_RESET or BEING_MADE."""

    slot: int
    episode: int
    step: int


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a worker died. kind: signal, exit, raised, hang or memory."""

    kind: str
    words: str
    from_outside: bool = False


@dataclass(frozen=True, slots=True)
class Died:
    """The worker is gone."""

    cause: Cause
    place: DeathPlace | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The worker finished some batches since the last event."""

    batches: int = 1


@dataclass(frozen=True, slots=True)
class Life:
    """One worker's record over all its processes."""

    is_given_up: bool = False
    strikes: int = 0  # deaths since it was last healthy
    healthy: int = 0
    place: DeathPlace | None = None
    times_here: int = 0


@dataclass(frozen=True, slots=True)
class Restart:
    """Start the worker again after a pause; ``cut`` names a step that must not be tried again."""

    pause_s: float
    cut: DeathPlace | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The worker cannot live."""


def advance(life: Life, event: Died | Answered, budget: int) -> tuple[Life, Restart | GiveUp | None]:
    """Return the worker's new record and what to do.

    A death at the same place again (twice, or three times when the cause came from outside) cuts that step out;
    a death while an env was being made says nothing about its episode and cuts nothing.
    More than ``budget`` deaths without a healthy stretch between them end it.
    """
    if isinstance(event, Answered):
        healthy = life.healthy + event.batches
        if healthy < HEALTHY_BATCHES:
            return replace(life, healthy=healthy), None
        return replace(life, healthy=healthy, strikes=0, place=None, times_here=0), None
    strikes = life.strikes + 1
    times_here = life.times_here + 1 if event.place is not None and event.place == life.place else 1
    life = replace(life, strikes=strikes, healthy=0, place=event.place, times_here=times_here)
    if strikes > budget:
        return replace(life, is_given_up=True), GiveUp()
    patience = 3 if event.cause.from_outside else 2
    in_episode = event.place is not None and event.place.step > BEING_MADE
    cut = event.place if in_episode and times_here >= patience else None
    pause_s = PAUSES_S[min(strikes - 1, len(PAUSES_S) - 1)]
    return life, Restart(pause_s, cut)


def cause_of_exit(exit_code: int | None) -> Cause:
    """Return what a process's exit code means in words.

    >>> cause_of_exit(-11).words
    'killed by SIGSEGV'
    """
    if exit_code is None or exit_code >= 0:
        return Cause("exit", exit_words(exit_code))
    return Cause("signal", exit_words(exit_code), -exit_code in OUTSIDE_SIGNALS)
