"""Milestones: what is reached when, what is open next, and every fault of a list."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from parcade.errors import SettingsError
from parcade.game.fields import number
from parcade.game.milestone import MOST_MILESTONES, Milestone, MilestoneTracker, milestone_faults

FIELDS = {"keys": number("keys", 0, 9), "doors": number("doors", 0, 9), "coins": number("coins", 0, 99)}
CHAIN = (
    Milestone("key", "keys >= 1", "has a key"),
    Milestone("door", "doors >= 1", "has opened a door", after=("key",)),
    Milestone("rich", "coins >= 10", "has ten coins"),
    Milestone("both", "keys >= 0 and coins >= 0 and doors < 9", "follows from both", after=("door", "rich")),
)


def state(keys: int = 0, doors: int = 0, coins: int = 0) -> SimpleNamespace:
    return SimpleNamespace(keys=keys, doors=doors, coins=coins)


def reached(tracker: MilestoneTracker) -> list[str]:
    return [name for number, name in enumerate(tracker.names) if tracker.reached >> number & 1]


def test_milestones_are_reached_once_in_their_order_and_stay() -> None:
    tracker = MilestoneTracker(CHAIN, FIELDS)
    tracker.begin({}, state())
    assert (tracker.reached, tracker.open) == (0, (0, 2))
    assert tracker.step({}, state(), state(doors=1)) == ()  # the door comes after the key
    assert tracker.step({}, state(doors=1), state(keys=1, doors=1)) == (0, 1)  # opened by the key, and held already
    assert tracker.open == (2,)
    assert tracker.step({}, state(keys=1), state()) == ()  # what was reached stays reached
    assert tracker.step({}, state(), state(coins=10)) == (2, 3)
    assert tracker.open == ()
    assert reached(tracker) == ["key", "door", "rich", "both"]
    tracker.begin({}, state())
    assert (tracker.reached, tracker.open) == (0, (0, 2))


def test_what_holds_at_the_start_is_reached() -> None:
    tracker = MilestoneTracker(CHAIN, FIELDS)
    tracker.begin({}, state(keys=1, doors=2))
    assert reached(tracker) == ["key", "door"]


def test_a_change_counts_only_after_its_milestone_has_opened() -> None:
    coins = [
        Milestone("first", "increased(coins)", "a coin"),
        Milestone("second", "increased(coins)", "another coin", after=("first",)),
    ]
    tracker = MilestoneTracker(coins, FIELDS)
    tracker.begin({}, state(coins=5))
    assert tracker.step({}, state(coins=5), state(coins=6)) == (0,)
    assert tracker.step({}, state(coins=6), state(coins=6)) == ()
    assert tracker.step({}, state(coins=6), state(coins=7)) == (1,)


def test_all_faults_are_told_at_once() -> None:
    faulty = [
        Milestone("Key 1", "kyes >= 1", "bad name and field"),
        Milestone("door", "doors >= 1", "unknown before", after=("ky",)),
        Milestone("door", "doors >= 2", "twice"),
        Milestone("a", "keys > 1", "circle", after=("b",)),
        Milestone("b", "keys > 2", "circle", after=("a",)),
        Milestone("c", "keys > 2", "behind a circle", after=("b",)),
        Milestone("self", "keys > 2", "itself", after=("self",)),
    ]
    assert list(milestone_faults(faulty, FIELDS)) == [
        "milestone 'Key 1': a name has small letters, digits and _, a letter first, 40 characters at most",
        "milestone 'Key 1': column 1: there is no field 'kyes' (did you mean 'keys'?)",
        "milestone 'door': it comes after 'ky', which is no milestone",
        "milestone 'door': the name is given twice",
        "milestone 'a': it comes after itself",
        "milestone 'b': it comes after itself",
        "milestone 'self': it comes after itself",
    ]
    with pytest.raises(SettingsError, match=r"'Key 1'.*; .*given twice"):
        MilestoneTracker(faulty, FIELDS)


def test_the_number_of_milestones_is_bounded() -> None:
    many = [Milestone(f"m{number}", "keys > 1", "one of many") for number in range(MOST_MILESTONES + 1)]
    assert list(milestone_faults(many, FIELDS)) == ["there are 65 milestones, the most is 64"]
    assert list(milestone_faults(many[:-1], FIELDS)) == []
