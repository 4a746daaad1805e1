"""What stands above a game, in as many words as there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parcade.env.picture_file import Shown


def captions(shown: Shown) -> list[str]:
    """Return the same facts in ever fewer words: who, how far, how well, what it does."""
    number = shown.label.rpartition(" ")[2]
    total = f"{shown.total_reward:.1f}"
    action = f"   {shown.action}" if shown.action else ""
    return [
        f"{shown.label}   step {shown.step:,}   return {total}{action}",
        f"{shown.label}  step {shown.step}  {total}{action}",
        f"{number}: step {shown.step}, {total}",
        f"{number}: {shown.step}, {total}",
        f"{number}: {total}",
        number,
    ]


def form_for_all(shown: Iterable[Shown], width: int, width_of: Callable[[str], int], at_least: int = 0) -> int:
    """Return the index of the longest form of ``captions`` that fits every game: all tiles say the same things."""
    forms = zip(*(captions(one) for one in shown), strict=True)
    fits = [all(width_of(text) <= width for text in texts) for texts in forms]
    return next((index for index in range(at_least, len(fits)) if fits[index]), len(fits) - 1)


def fitting(texts: list[str], width: int, width_of: Callable[[str], int]) -> str:
    """Return the first text that is no wider than ``width``, or the last."""
    return next((text for text in texts if width_of(text) <= width), texts[-1])
