"""Conditions on a title's fields, such as ``keys >= 1 and hearts > 2``: checked, then compiled to a plain function.

docs/guide.md tells the language. A condition that divides by zero does not hold at that moment.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parcade.errors import SettingsError, did_you_mean
from parcade.game.condition_parser import (
    Arithmetic,
    Change,
    Comparison,
    Junction,
    Name,
    Node,
    Not,
    Number,
    Text,
    parse,
)
from parcade.game.condition_range import range_of
from parcade.game.fields import FieldMeaning
from parcade.host.input_file import short

Fields = Mapping[str, FieldMeaning]
When = Callable[[Any, Any, Any], bool]  # the episode's record, the state before the step, the state after it
Value = Callable[[Any, Any, Any], float]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt},
    **{">=": operator.ge, "==": operator.eq, "!=": operator.ne},
}
_CALCULATE: dict[str, Callable[[Any, Any], float]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul},
    **{"/": operator.truediv, "//": operator.floordiv, "%": operator.mod},
}
_CHANGE = {"changed": operator.ne, "increased": operator.gt, "decreased": operator.lt}


def compile_condition(text: str, fields: Fields) -> When:
    """Return the condition as a function; raise SettingsError, in one sentence, for all of its faults."""
    faults = condition_faults(text, fields)
    if faults:
        raise SettingsError(f"the condition {short(text)} cannot be used: {'; '.join(faults)}")
    tree = _resolved(parse(text), fields)
    value = _value(tree, fields)
    if isinstance(tree, Comparison | Junction | Not | Change) and not _calculates(tree):
        return value  # type: ignore[return-value]  # these give True or False, and only arithmetic can fail

    def holds(progress: Any, before: Any, after: Any) -> bool:
        try:
            return bool(value(progress, before, after))
        except ArithmeticError:
            return False

    return holds


def condition_faults(text: str, fields: Fields) -> list[str]:
    """Return what is wrong with a condition: its syntax, or else every field and name it should not use."""
    try:
        tree = parse(text)
    except SettingsError as error:
        return [str(error)]
    faults = list(dict.fromkeys(_faults(tree, fields)))
    return faults or _certain(tree, fields)


def _faults(node: Node, fields: Fields) -> Iterator[str]:
    if isinstance(node, Name) and node.name not in fields:
        yield f"column {node.column}: there is no field {short(node.name)}{did_you_mean(node.name, fields)}"
    elif isinstance(node, Text):
        yield f"column {node.column}: {short(node.text)} can only be compared with a field by == or !="
    elif isinstance(node, Change):
        yield from _faults(node.of, fields)
        if node.of.name in fields and fields[node.of.name].count is not None:
            at, name = node.of.column, node.of.name
            yield f"column {at}: {name} counts over the episode, so {node.what} does not know it; compare it"
    elif isinstance(node, Comparison):
        yield from _text_faults(node, fields)
    for part in () if isinstance(node, Change) else _parts(node):
        if not (isinstance(part, Text) and isinstance(node, Comparison)):
            yield from _faults(part, fields)


def _text_faults(node: Comparison, fields: Fields) -> Iterator[str]:
    """Yield the faults of names in quotes: each must be a value of the one field it is compared with."""
    for index, text in enumerate(node.parts):
        if not isinstance(text, Text):
            continue
        other = node.parts[1 - index] if len(node.parts) == 2 else None
        if not isinstance(other, Name) or node.signs[0] not in ("==", "!="):
            yield f"column {text.column}: {short(text.text)} can only be compared with a field by == or !="
        elif other.name in fields and text.text not in fields[other.name].values:
            known = fields[other.name].values
            near = did_you_mean(text.text, known)
            which = f"; it has {', '.join(known)}" if 0 < len(known) <= 12 and not near else ""
            yield f"column {text.column}: {other.name} has no value {short(text.text)}{near}{which}"


def _certain(tree: Node, fields: Fields) -> list[str]:
    """Return that a condition never or always holds, if the ranges of its fields say so."""
    low, high = range_of(_resolved(tree, fields), fields)
    never, always = low == high == 0, low > 0 or high < 0
    if not (never or always):
        return []
    ranges = ", ".join(f"{name} is {fields[name].range}" for name in dict.fromkeys(_names(tree)))
    return [f"it {'never' if never else 'always'} holds{f' ({ranges})' if ranges else ''}"]


def _names(node: Node) -> Iterator[str]:
    if isinstance(node, Name):
        yield node.name
    for part in _parts(node):
        yield from _names(part)


def _calculates(node: Node) -> bool:
    return isinstance(node, Arithmetic) or any(map(_calculates, _parts(node)))


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Junction | Comparison):
        return node.parts
    if isinstance(node, Arithmetic):
        return node.left, node.right
    return (node.of,) if isinstance(node, Not | Change) else ()


def _resolved(node: Node, fields: Fields) -> Node:
    """Return the tree with numbers in the place of the names of a choice's values."""
    if isinstance(node, Junction):
        return Junction(node.word, tuple(_resolved(part, fields) for part in node.parts))
    if isinstance(node, Not):
        return Not(_resolved(node.of, fields))
    if not isinstance(node, Comparison):
        return node
    names = [part.name for part in node.parts if isinstance(part, Name)]
    parts = (
        Number(fields[names[0]].values[part.text]) if isinstance(part, Text) else _resolved(part, fields)
        for part in node.parts
    )
    return Comparison(tuple(parts), node.signs)


def _value(node: Node, fields: Fields) -> Value:
    """Return a function for a tree without faults."""
    if isinstance(node, Number):
        number = node.value
        return lambda progress, before, after: number
    if isinstance(node, Name):
        return _field(node.name, fields)
    if isinstance(node, Change):
        read, differs = fields[node.of.name].reader(node.of.name), _CHANGE[node.what]
        return lambda progress, before, after: differs(read(after), read(before))
    if isinstance(node, Not):
        inner = _value(node.of, fields)
        return lambda progress, before, after: not inner(progress, before, after)
    if isinstance(node, Arithmetic):
        left, right, calculate = _value(node.left, fields), _value(node.right, fields), _CALCULATE[node.sign]
        return lambda progress, before, after: calculate(left(progress, before, after), right(progress, before, after))
    if isinstance(node, Comparison):
        return _comparison(node, fields)
    assert isinstance(node, Junction)
    parts, ends_with = tuple(_value(part, fields) for part in node.parts), node.word == "or"
    return _junction(parts, ends_with)


def _field(name: str, fields: Fields) -> Value:
    read = fields[name].reader(name)
    if fields[name].count is not None:
        return lambda progress, before, after: read(progress)
    return lambda progress, before, after: read(after)


def _junction(parts: tuple[Value, ...], ends_with: bool) -> Value:
    """Return ``or``, which ends with the first part that holds, or ``and``, which ends with the first that does not."""

    def joined(progress: Any, before: Any, after: Any) -> bool:
        for part in parts:
            if bool(part(progress, before, after)) is ends_with:
                return ends_with
        return not ends_with

    return joined


def _comparison(node: Comparison, fields: Fields) -> Value:
    """Return a chain of comparisons; that of a state's field with a number, the usual one, is a single call."""
    first, last = node.parts[0], node.parts[-1]
    if len(node.parts) == 2 and isinstance(last, Number) and isinstance(first, Name):
        meaning = fields[first.name]
        if meaning.count is None:
            return _ONE_CALL[node.signs[0]](meaning.reader(first.name), last.value)
    values = tuple(_value(part, fields) for part in node.parts)
    signs = tuple(_COMPARE[sign] for sign in node.signs)

    def chained(progress: Any, before: Any, after: Any) -> bool:
        left = values[0](progress, before, after)
        for compare, value in zip(signs, values[1:], strict=True):
            right = value(progress, before, after)
            if not compare(left, right):
                return False
            left = right
        return True

    return chained


_ONE_CALL: dict[str, Callable[[Callable[[Any], float], float], Value]] = {
    "<": lambda read, number: lambda progress, before, after: read(after) < number,
    "<=": lambda read, number: lambda progress, before, after: read(after) <= number,
    ">": lambda read, number: lambda progress, before, after: read(after) > number,
    ">=": lambda read, number: lambda progress, before, after: read(after) >= number,
    "==": lambda read, number: lambda progress, before, after: read(after) == number,
    "!=": lambda read, number: lambda progress, before, after: read(after) != number,
}
