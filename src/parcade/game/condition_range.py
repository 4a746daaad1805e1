"""Between which numbers a condition's parts lie, told by the ranges of its fields: what never or always holds."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping

from parcade.game.condition_parser import (
    Arithmetic,
    Change,
    Comparison,
    Junction,
    Name,
    Node,
    Not,
    Number,
)
from parcade.game.fields import FieldMeaning

Range = tuple[float, float]
_ANYTHING: Range = (-math.inf, math.inf)
_MAYBE: Range = (0, 1)
_NO: Range = (0, 0)
_YES: Range = (1, 1)
_EXTREMES = {"+": operator.add, "-": operator.sub, "*": operator.mul}  # largest and smallest at the ends of ranges
_MIRRORED = {">": "<", ">=": "<="}


def range_of(node: Node, fields: Mapping[str, FieldMeaning]) -> Range:
    """Return the lowest and the highest number that a tree without faults can give."""
    if isinstance(node, Number):
        return float(node.value), float(node.value)
    if isinstance(node, Name):
        return float(fields[node.name].low), float(fields[node.name].high)
    if isinstance(node, Change):
        return _MAYBE if fields[node.of.name].low < fields[node.of.name].high else _NO
    if isinstance(node, Not):
        return _opposite(_truth(range_of(node.of, fields)))
    if isinstance(node, Junction):
        return _joined(node.word, [_truth(range_of(part, fields)) for part in node.parts])
    if isinstance(node, Comparison):
        ranges = [range_of(part, fields) for part in node.parts]
        pairs = zip(ranges, node.signs, ranges[1:], strict=False)
        return _joined("and", [_compared(*pair) for pair in pairs])
    assert isinstance(node, Arithmetic)
    return _calculated(node.sign, range_of(node.left, fields), range_of(node.right, fields))


def _truth(numbers: Range) -> Range:
    low, high = numbers
    if low == high == 0:
        return _NO
    return _YES if low > 0 or high < 0 else _MAYBE


def _opposite(truth: Range) -> Range:
    return 1 - truth[1], 1 - truth[0]


def _joined(word: str, truths: list[Range]) -> Range:
    pick = min if word == "and" else max
    return pick(low for low, _ in truths), pick(high for _, high in truths)


def _compared(left: Range, sign: str, right: Range) -> Range:
    if sign in _MIRRORED:
        left, sign, right = right, _MIRRORED[sign], left
    if sign == "!=":
        return _opposite(_compared(left, "==", right))
    apart = left[1] < right[0] or right[1] < left[0]
    if sign == "==":
        is_one = left[0] == left[1] == right[0] == right[1]
        return _NO if apart else _YES if is_one else _MAYBE
    if left[1] < right[0] or (sign == "<=" and left[1] == right[0]):
        return _YES
    return _NO if left[0] > right[1] or (sign == "<" and left[0] == right[1]) else _MAYBE


def _calculated(sign: str, left: Range, right: Range) -> Range:
    if sign not in _EXTREMES:
        return _ANYTHING
    found = [_EXTREMES[sign](a, b) for a in left for b in right]
    return (min(found), max(found)) if all(map(math.isfinite, found)) else _ANYTHING
