"""Milestones: named conditions on a game's state, which of them an episode has reached, and which may come next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from parcade.errors import SettingsError, did_you_mean
from parcade.game.condition import Fields, When, compile_condition, condition_faults
from parcade.host.input_file import short

MOST_MILESTONES = 64
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Milestone:
    """Something on the way of a title, in the order in which a player meets it.

    It counts once ``when`` (docs/guide.md) has held at some moment of an episode, its first moment included. ``after``
    names milestones without which the game does not let it happen: it is not looked for before them, which saves time.
    """

    name: str
    when: str
    words: str
    after: tuple[str, ...] = ()


class Step(Protocol):
    """What a tracker needs to know of a milestone."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def when(self) -> str:
        """Return its condition."""

    @property
    def after(self) -> tuple[str, ...]:
        """Return the milestones that come before it."""


class MilestoneTracker:
    """Knows for one episode which milestones are reached (bit i of ``reached``) and which are open.

    Open are those that are not reached, but everything they come after is. Only these are looked at.
    """

    def __init__(self, milestones: Sequence[Step], fields: Fields) -> None:
        faults = list(milestone_faults(milestones, fields))
        if faults:
            raise SettingsError("; ".join(faults))
        numbers = {milestone.name: number for number, milestone in enumerate(milestones)}
        self.names = tuple(numbers)
        self._whens: list[When] = [compile_condition(milestone.when, fields) for milestone in milestones]
        self._after = [sum(1 << numbers[name] for name in set(milestone.after)) for milestone in milestones]
        self.reached = 0
        self._open: list[tuple[int, When]] = []

    def begin(self, progress: Any, state: Any) -> None:
        """Begin an episode; what holds in its first moment is reached."""
        self.reached = 0
        self._open = self._opened()
        self._reach(progress, state, state)

    def go_back(self, reached: int) -> None:
        """Go back to a moment of an episode in which ``reached`` were the ones reached."""
        self.reached = reached
        self._open = self._opened()

    def step(self, progress: Any, before: Any, after: Any) -> tuple[int, ...]:
        """Return the numbers of the milestones that this step has reached, in the order of their list."""
        for _, when in self._open:
            if when(progress, before, after):
                return self._reach(progress, before, after)
        return ()

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of the milestones that may come next."""
        return tuple(number for number, _ in self._open)

    def _opened(self) -> list[tuple[int, When]]:
        reached = self.reached
        return [
            (number, when)
            for number, when in enumerate(self._whens)
            if not reached >> number & 1 and not self._after[number] & ~reached
        ]

    def _reach(self, progress: Any, before: Any, after: Any) -> tuple[int, ...]:
        """Note what is reached, and what opens and holds by it; a change counts from the moment its milestone opens."""
        reached_before, looked_at = self.reached, self._open
        while found := [number for number, when in looked_at if when(progress, before, after)]:
            self.reached |= sum(1 << number for number in found)
            known = {number for number, _ in looked_at}
            looked_at = [part for part in self._opened() if part[0] not in known]
            before = after
        self._open = self._opened()
        new = self.reached & ~reached_before
        return tuple(number for number in range(len(self.names)) if new >> number & 1)


def milestone_faults(milestones: Sequence[Step], fields: Fields) -> Iterator[str]:
    """Yield everything that is wrong with a list of milestones."""
    if len(milestones) > MOST_MILESTONES:
        yield f"there are {len(milestones):,} milestones, the most is {MOST_MILESTONES}"
        return
    names = [milestone.name for milestone in milestones]
    for number, milestone in enumerate(milestones):
        faults = [*_name_faults(milestone, names[:number]), *_order_faults(milestone, names)]
        faults += condition_faults(milestone.when, fields)
        for fault in faults:
            yield f"milestone {short(milestone.name)}: {fault}"
    for name in _in_circle(milestones):
        yield f"milestone {short(name)}: it comes after itself"


def _name_faults(milestone: Step, before: list[str]) -> Iterator[str]:
    if not _NAME.fullmatch(milestone.name):
        yield "a name has small letters, digits and _, a letter first, 40 characters at most"
    if milestone.name in before:
        yield "the name is given twice"


def _order_faults(milestone: Step, names: list[str]) -> Iterator[str]:
    for name in milestone.after:
        if name not in names:
            yield f"it comes after {short(name)}, which is no milestone{did_you_mean(name[:100], names)}"


def _in_circle(milestones: Sequence[Step]) -> list[str]:
    """Return the names that come after themselves, directly or by way of others."""
    after = {milestone.name: set(milestone.after) for milestone in milestones}
    return [name for name in after if _leads_to(name, name, after)]


def _leads_to(start: str, end: str, after: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in after.get(waiting.pop(), set()) - seen:
            if name == end:
                return True
            seen.add(name)
            waiting.append(name)
    return False
