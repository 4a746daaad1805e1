"""Guides as data: how a list becomes an order, every fault at once, and what is shipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from parcade.config.file import read_guide
from parcade.errors import SettingsError
from parcade.game.condition import condition_faults
from parcade.game.guide import check_shape, guide_faults, guide_milestones, without_rewards
from parcade.game.lantern import Lantern
from parcade.game.titles import find_title

GUIDES = Path(__file__).parents[3] / "configs" / "guides"
GAME = Lantern()


def guide(*milestones: Any, **more: Any) -> dict[str, Any]:
    return {"milestones": list(milestones), **more}


def one(name: str = "key", when: str = "keys >= 1", **more: Any) -> dict[str, Any]:
    return {"name": name, "when": when, **more}


def test_a_list_is_an_order_and_after_changes_it() -> None:
    found = guide_milestones(
        guide(
            one("a"),
            one("b", reward=2.5, hint="take it"),
            one("c", after=[]),
            one("d"),
            one("e", after="b"),
            one("f", after=["a", "c"]),
        ),
        GAME,
    )
    assert [(m.name, m.after) for m in found] == [
        ("a", ()),
        ("b", ("a",)),
        ("c", ()),
        ("d", ("c",)),
        ("e", ("b",)),
        ("f", ("a", "c")),
    ]
    assert [(m.reward, m.hint) for m in found[:2]] == [(1.0, ""), (2.5, "take it")]


def test_all_faults_are_told_at_once() -> None:
    wrong = guide(
        one("a", "kyes > 1", rewrd=3),
        one(True, "keys > 1", reward=-3, after=None),  # type: ignore[arg-type]
        one("c", 3, hint=7),  # type: ignore[arg-type]
        "d",
        {"reward": "much"},
        game=5,
        milestone=[],
    )
    assert guide_faults(wrong, GAME) == [
        "unknown key 'milestone' (did you mean 'milestones'?)",
        "game is 5, wanted the name of a title",
        "milestone 1 ('a'): unknown key 'rewrd' (did you mean 'reward'?)",
        "milestone 2: name is True, wanted text; put it in quotes",
        "milestone 2: reward is -3, wanted a number from 0 to 1,000",
        "milestone 2: after is None, wanted a milestone's name, a list of them, or [] for none",
        "milestone 3 ('c'): when is 3, wanted text; put it in quotes",
        "milestone 3 ('c'): hint is 7, wanted text of 500 characters at most",
        "milestone 4 is 'd', wanted name, when, reward, hint, after",
        "milestone 5: name is missing",
        "milestone 5: when is missing",
        "milestone 5: reward is 'much', wanted a number from 0 to 1,000",
        "milestone 1 ('a'): column 1: there is no field 'kyes' (did you mean 'keys'?)",
        "milestone 2: it never holds (keys is 0 to 1)",
    ]
    with pytest.raises(SettingsError, match=r"the guide cannot be used: unknown key 'milestone'.*; milestone 5"):
        check_shape(wrong)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (None, "it is None, wanted the key milestones"),
        ([], r"it is \[\], wanted the key milestones"),
        ({}, "milestones is None, wanted a list of one or more"),
        ({"milestones": []}, r"milestones is \[\], wanted a list of one or more"),
        ({"milestones": {"a": 1}}, "wanted a list of one or more"),
        (guide(*[one(f"m{n}") for n in range(65)]), "there are 65 milestones, the most is 64"),
        (guide(*[7] * 64), "milestone 50 is 7, .*; 14 more faults"),
        (guide(one(reward=float("nan"))), "reward is nan, wanted a number from 0 to 1,000"),
        (guide(one(reward=True)), "reward is True, wanted a number"),
        (guide(one(reward=10**400)), "reward is a number of .* bits, wanted a number"),
        (guide(one(hint="x" * 501)), "hint is 'xxx.*, wanted text of 500 characters at most"),
        (guide(one(), game="meadow"), "the guide cannot be used for lantern: it is for the game 'meadow'"),
        (guide(one(), one()), "milestone 'key': the name is given twice; milestone 'key': it comes after itself"),
        (guide(one("a", after="b"), one("b")), "milestone 'a': it comes after itself; milestone 'b'"),
        (guide(one("Key!")), "milestone 'Key!': a name has small letters"),
        (guide(one(when="x" * 600)), "it has 600 characters, the most is 500"),
        (guide(one(when="__import__('os').system('true')")), "milestone 'key': column"),
    ],
)
def test_faults_in_words(data: Any, fault: str) -> None:
    with pytest.raises(SettingsError, match=fault):
        guide_milestones(data, GAME)


def test_a_title_without_fields_takes_no_guide() -> None:
    class Bare(Lantern):
        fields = {}

    assert "lantern names no fields that a condition could use (docs/add-a-game.md)" in guide_faults(
        guide(one()), Bare()
    )


def test_a_guide_without_rewards_is_the_same_guide() -> None:
    paid = guide(one("a", reward=3), one("b", hint="h"), game="lantern")
    free = without_rewards(paid)
    assert [m.reward for m in guide_milestones(free, GAME)] == [0.0, 0.0]
    assert [(m.name, m.when, m.hint, m.after) for m in guide_milestones(free, GAME)] == [
        (m.name, m.when, m.hint, m.after) for m in guide_milestones(paid, GAME)
    ]
    assert paid["milestones"][0]["reward"] == 3


def test_the_examples_of_the_page_are_true(tmp_path: Path) -> None:
    page = (GUIDES.parents[1] / "docs" / "guide.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "guide.yaml").write_text(example, encoding="utf-8")
    found = guide_milestones(read_guide(tmp_path / "guide.yaml"), GAME)
    assert [(m.name, m.after) for m in found] == [("take_key", ()), ("open_door", ("take_key",)), ("fight", ())]
    (faults,) = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for line in faults.splitlines():
        condition, fault = re.split(r" {2,}", line)
        assert condition_faults(condition, GAME.fields) == [fault]


@pytest.mark.parametrize("path", sorted(GUIDES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_guides_we_ship_are_sound(path: Path) -> None:
    data = read_guide(path)
    milestones = guide_milestones(data, find_title(path.stem))
    assert len(milestones) >= 5
    assert all(milestone.hint and milestone.reward > 0 for milestone in milestones)
