"""Numbers that name choices, and where each choice's place is among all of them."""

from __future__ import annotations

from itertools import accumulate

Choices = tuple[tuple[int, int], ...]  # of each number of a leaf: how many values it has, and the first


def choice_places(choices: Choices) -> list[int]:
    """Return what to add to each number to find its place among all choices.

    >>> choice_places(((3, 0), (2, 1)))
    [0, 2]
    """
    ends = accumulate((n for n, _ in choices), initial=0)
    return [first - start for first, (_, start) in zip(ends, choices, strict=False)]
