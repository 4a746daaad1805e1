"""Where a bench shows its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable

Say = Callable[[str], None]


def tell_stderr(text: str) -> None:
    """Show progress where results do not go."""
    print(text, file=sys.stderr, flush=True)
