"""Numbers and nouns as messages show them."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "worker"), counted(1200, "game")
    ('1 worker', '1,200 games')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"
