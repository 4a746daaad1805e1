"""Whether a window can be opened here."""

from __future__ import annotations

import os
import sys
from typing import Any

_UNSEEN = ("offscreen", "dummy")  # drivers SDL falls back to by itself: it draws into nothing and says nothing


def why_no_display(pygame: Any) -> str:
    """Return why nobody would see a window, or an empty text; pygame's display is open then."""
    chosen = os.environ.get("SDL_VIDEODRIVER")
    screen = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    if sys.platform.startswith("linux") and not screen and not chosen:
        return "this machine has no display: neither DISPLAY nor WAYLAND_DISPLAY is set"
    try:
        pygame.display.init()
        pygame.display.get_desktop_sizes()
    except pygame.error as error:
        return str(error)
    if pygame.display.get_driver() in _UNSEEN and not chosen:
        return f"the display {screen!r} does not answer"
    return ""
