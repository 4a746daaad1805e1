"""Revisions of a guide: what a coach may change, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from parcade.errors import SettingsError
from parcade.game.guide import check_shape, guide_faults, guide_milestones, room_of, with_room
from parcade.game.guide_revision import is_empty, paid, revised, summary
from parcade.game.lantern import Lantern

GAME = Lantern()
GUIDE = with_room(
    {
        "game": "lantern",
        "milestones": [
            {"name": "room", "when": "rooms_seen_total >= 2"},
            {"name": "key", "when": "keys_taken >= 1", "reward": 4},
        ],
    },
    3,
)
NEAR = {"name": "near", "when": "key_here", "reward": 0.5, "hint": "go in", "after": ["room"], "before": ["key"]}


def change(revision: Any, guide: Any = GUIDE) -> dict[str, Any]:
    return revised(guide, revision, GAME, paid(GUIDE))


def test_an_added_milestone_takes_the_next_place_and_splits_the_way() -> None:
    changed = change({"reason": "far", "add": [NEAR]})
    assert [(one.name, one.after) for one in guide_milestones(changed, GAME)] == [
        ("room", ()),
        ("key", ("room", "near")),
        ("near", ("room",)),
    ]
    assert (room_of(changed), changed["coach"]) == (room_of(GUIDE), {"places": 3, "added": 1})
    assert guide_faults(changed, GAME) == []
    assert GUIDE["milestones"][1] == {"name": "key", "when": "keys_taken >= 1", "reward": 4}


def test_rewards_and_order_change_within_limits() -> None:
    changed = change({"reweight": [{"name": "key", "reward": 2}], "reorder": [{"name": "key", "after": []}]})
    assert [(one.reward, one.after) for one in guide_milestones(changed, GAME)] == [(1.0, ()), (2.0, ())]
    assert summary({"reweight": [{"name": "key", "reward": 2}], "reorder": [{"name": "key", "after": []}]}) == (
        "key pays 2; key comes after nothing"
    )


def test_an_empty_revision_changes_only_how_it_is_written() -> None:
    assert is_empty({"reason": "fine", "add": []})
    assert not is_empty({"add": [NEAR]})
    assert guide_milestones(change({}), GAME) == guide_milestones(GUIDE, GAME)


LONG = "x" * 501
FAULTS = {
    "text": ("import os", "the revision is 'import os'"),
    "an unknown key": ({"remove": ["key"]}, "unknown key 'remove'"),
    "a long reason": ({"reason": LONG}, "reason is"),
    "too many": ({"add": [{**NEAR, "name": f"n{i}"} for i in range(5)]}, "a list of 4 changes at most"),
    "no list": ({"add": {"name": "x"}}, "add is"),
    "a number": ({"add": [3]}, "add 1 is 3"),
    "no condition": ({"add": [{"name": "x"}]}, "add 1: when is missing"),
    "a name that is taken": ({"add": [{**NEAR, "name": "key"}]}, "there is a milestone 'key' already"),
    "an unknown field": ({"add": [{**NEAR, "when": "gold > 1"}]}, "there is no field 'gold'"),
    "code": ({"add": [{**NEAR, "when": "__import__('os').system('x')"}]}, "milestone 'near'"),
    "what comes before nothing": ({"add": [{**NEAR, "before": ["kee"]}]}, "did you mean 'key'"),
    "a circle": ({"add": [{**NEAR, "after": ["key"]}]}, "it comes after itself"),
    "a large reward": ({"add": [{**NEAR, "reward": 5}]}, "pays 5, the most is 4"),
    "a negative reward": ({"add": [{**NEAR, "reward": -1}]}, "reward is -1"),
    "no number": ({"add": [{**NEAR, "reward": float("nan")}]}, "reward is nan"),
    "a reward that is true": ({"reweight": [{"name": "key", "reward": True}]}, "reward is True"),
    "three times the reward": ({"reweight": [{"name": "key", "reward": 12}]}, "may set 2 to 8, not 12"),
    "an unknown milestone": ({"reweight": [{"name": "kee", "reward": 1}]}, "did you mean 'key'"),
    "an order of nothing": ({"reorder": [{"name": "key", "after": ["gate"]}]}, "which is no milestone"),
    "another condition": ({"reorder": [{"name": "key", "after": [], "when": "true"}]}, "unknown key 'when'"),
    "an order without end": ({"reorder": [{"name": "key", "after": ["room"] * 100}]}, "a list of milestones' names"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_said_and_nothing_changes(kind: str) -> None:
    revision, words = FAULTS[kind]
    with pytest.raises(SettingsError) as told:
        change(revision)
    assert words in str(told.value)
    assert len(str(told.value)) < 2000


def test_places_and_the_sum_of_rewards_have_an_end() -> None:
    guide: dict[str, Any] = GUIDE
    for number in range(3):
        guide = change({"add": [{**NEAR, "name": f"near_{number}", "before": []}]}, guide)
    with pytest.raises(SettingsError, match="places for 3"):
        change({"add": [NEAR]}, guide)
    richer = change({"reweight": [{"name": "key", "reward": 8}]})
    with pytest.raises(SettingsError, match="would pay 17, the most is 15"):
        change({"reweight": [{"name": "key", "reward": 16}]}, richer)


@pytest.mark.parametrize(
    ("coach", "words"),
    [
        (3, "coach is 3"),
        ({"places": 3}, "wanted whole numbers"),
        ({"places": 3, "added": 4}, "wanted whole numbers"),
        ({"places": True, "added": 0}, "wanted whole numbers"),
        ({"places": 63, "added": 0}, "more than 64"),
    ],
)
def test_room_that_cannot_be_is_refused(coach: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_shape({**GUIDE, "coach": coach})


def test_with_a_coach_a_milestone_is_not_called_as_a_place() -> None:
    with pytest.raises(SettingsError, match="the name of a place"):
        check_shape(with_room({"milestones": [{"name": "place_1", "when": "keys >= 1"}]}, 3))
