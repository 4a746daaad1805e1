"""Tables of benches."""

from __future__ import annotations

from typing import Any


def make_table(title: str, *columns: str) -> Any:
    """Return an empty table: the first column is words, the others are numbers."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def times(ratio: float | None) -> str:
    """Return a ratio as text; a dash where there is nothing to compare."""
    return "–" if ratio is None else f"{ratio:.2f} ×"
