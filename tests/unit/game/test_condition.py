"""The language of conditions: against Python itself where it means the same, and every fault in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcade.errors import SettingsError
from parcade.game.condition import compile_condition, condition_faults
from parcade.game.fields import choice, counted, flag, number

FIELDS = {
    "keys": number("keys", 0, 9),
    "hearts": number("half hearts", 0, 6),
    "temperature": number("below zero too", -20, 40),
    "lit": flag("the lantern burns"),
    "mode": choice("what happens", ("walk", "battle", "menu")),
    "cells": counted("cells seen", 99, lambda progress: progress["cells"]),
}
STATE_NAMES = ("keys", "hearts", "temperature", "lit", "mode")


def state(**changes: float) -> SimpleNamespace:
    return SimpleNamespace(**{"keys": 2, "hearts": 3, "temperature": -5, "lit": 0, "mode": 1, **changes})


def holds(text: str, before: Any = None, after: Any = None, cells: int = 7) -> bool:
    after = after or state()
    return compile_condition(text, FIELDS)({"cells": cells}, before or after, after)


numbers = st.one_of(
    st.integers(0, 50).map(str), st.sampled_from([*STATE_NAMES, "cells"]), st.floats(0, 9).map(lambda x: f"{x:.2f}")
)
arithmetic = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=5,
)
comparisons = st.lists(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), arithmetic), min_size=1, max_size=3
).flatmap(lambda rest: arithmetic.map(lambda first: " ".join([first, *(part for pair in rest for part in pair)])))
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map(lambda text: f"not {text}"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=4,
)
states = st.fixed_dictionaries(
    {name: st.integers(int(FIELDS[name].low), int(FIELDS[name].high)) for name in STATE_NAMES}
)


@settings(max_examples=150, deadline=None)
@given(conditions, states, st.integers(0, 99))
def test_a_condition_means_what_python_would_mean_and_never_means_never(
    text: str, values: dict[str, int], cells: int
) -> None:
    faults = condition_faults(text, FIELDS)
    try:
        wanted = bool(eval(text, {}, {**values, "cells": cells}))  # the oracle; the package itself evaluates nothing
    except ZeroDivisionError:
        wanted = False
    if not faults:
        assert holds(text, after=state(**values), cells=cells) is wanted
    elif "never holds" in faults[0]:
        assert wanted is False
    elif "always holds" in faults[0]:
        assert wanted is True or "/" in text or "%" in text
    else:
        assert "the most is" in faults[0] or "deep" in faults[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("keys >= 2 and hearts > 2", True),
        ("0 < keys <= 2 < hearts", True),
        ("not lit", True),
        ("keys", True),
        ("lit", False),
        ("mode == 'battle'", True),
        ('mode != "battle"', False),
        ("'menu' == mode", False),
        ("true and not false", None),
        ("temperature < -4", True),
        ("cells / (keys - 2) > 1", False),  # a division by zero does not hold,
        ("not cells / (keys - 2) > 1", False),  # nor does its opposite
        ("10 - 3 - 2 == 5 and keys", True),
        ("2 + 3 * keys == 8", True),
        ("keys == 1 or hearts == 3 and lit == 0", True),
    ],
)
def test_examples(text: str, wanted: bool | None) -> None:
    if wanted is None:
        assert condition_faults(text, FIELDS) == ["it always holds"]
    else:
        assert holds(text) is wanted


def test_changes_look_at_the_step_before() -> None:
    before, after = state(keys=1, hearts=4), state(keys=2, hearts=3)
    assert holds("changed(keys) and increased(keys) and not decreased(keys)", before, after)
    assert holds("decreased(hearts)", before, after)
    assert not holds("changed(lit) or increased(hearts)", before, after)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "column 1: the end where a field, a number or a bracket should be"),
        ("keys >", "column 7: the end where a field, a number or a bracket should be"),
        ("keys 3", "column 6: '3' where and, or, a comparison or the end should be"),
        ("(keys > 1", "column 10: the end where ')' should be"),
        ("keys = 1", "column 6: '= 1' cannot be read; write '=='"),
        ("keys && lit", "column 6: '&& lit' cannot be read; write 'and'"),
        ("changed(3)", "column 9: '3' where a field should be"),
        ("changed keys", "column 9: 'keys' where '(' should be"),
        ("mode == 'batle'", "column 9: mode has no value 'batle' (did you mean 'battle'?)"),
        ("mode == 'sleep'", "column 9: mode has no value 'sleep'; it has walk, battle, menu"),
        ("keys == 'many'", "column 9: keys has no value 'many'"),
        ("mode > 'battle'", "column 8: 'battle' can only be compared with a field by == or !="),
        ("1 < mode == 'battle'", "column 13: 'battle' can only be compared with a field by == or !="),
        ("'battle'", "column 1: 'battle' can only be compared with a field by == or !="),
        ("'battle' + 1 > 2", "column 1: 'battle' is a name, which has no '+'"),
        ("increased(cells)", "column 11: cells counts over the episode, so increased does not know it; compare it"),
        ("keys > 9", "it never holds (keys is 0 to 9)"),
        ("hearts * 2 + keys >= 30", "it never holds (hearts is 0 to 6, keys is 0 to 9)"),
        ("lit >= 0", "it always holds (lit is 0 to 1)"),
        ("not (keys <= 9)", "it never holds (keys is 0 to 9)"),
        ("1 == 1", "it always holds"),
        ("__import__('os')", "column 11: '(' where and, or, a comparison or the end should be"),
        ("keys.__class__", "column 5: '.__class__' cannot be read"),
        ("keys[0]", "column 5: '[0]' cannot be read"),
        ("lambda: 1", "column 7: ': 1' cannot be read"),
        ("kéys > 1", "column 2: 'éys > 1' cannot be read"),
    ],
)
def test_a_fault_names_its_place(text: str, fault: str) -> None:
    assert condition_faults(text, FIELDS) == [fault]
    with pytest.raises(SettingsError, match="cannot be used"):
        compile_condition(text, FIELDS)


def test_every_unknown_field_is_told_at_once() -> None:
    assert condition_faults("kyes > 1 and (heart < 2 or changed(moed)) and gold", FIELDS) == [
        "column 1: there is no field 'kyes' (did you mean 'keys'?)",
        "column 15: there is no field 'heart' (did you mean 'hearts'?)",
        "column 36: there is no field 'moed' (did you mean 'mode'?)",
        "column 47: there is no field 'gold'",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("keys > 1 or " * 50 + "lit", "it has 603 characters, the most is 500"),
        ("(" * 17 + "lit" + ")" * 17, "column 18: it is nested more than 16 deep"),
        ("not " * 17 + "lit", "column 69: it is nested more than 16 deep"),
        ("-" * 17 + "1 < keys", "column 18: it is nested more than 16 deep"),
        ("1+" * 60 + "keys", "it has 121 names, numbers and signs, the most is 99"),
    ],
)
def test_size_and_depth_are_bounded(text: str, fault: str) -> None:
    assert condition_faults(text, FIELDS) == [fault]


def test_huge_numbers_neither_fail_nor_hang() -> None:
    large = "*".join(["999999999999999"] * 20)
    assert not holds(f"{large} / 3.5 < keys * 0.5 + cells")
    assert holds(f"{large} + keys > 5 and lit == 0")
