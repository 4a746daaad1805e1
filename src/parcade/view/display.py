"""Whether a window can be opened here."""

from __future__ import annotations

import os
import sys
from typing import Any

_UNSEEN = ("offscreen", "dummy")  # drivers SDL falls back to by itself: it draws into nothing and says nothing


def centre_window(pygame: Any, size: tuple[int, int]) -> None:
    """Put the window of ``size`` into the middle of the screen, where pygame can (pygame-ce does)."""
    move = getattr(pygame.display, "set_window_position", None)
    if move is not None:
        width, height = pygame.display.get_desktop_sizes()[0]
        move((max(0, (width - size[0]) // 2), max(0, (height - size[1]) // 2)))


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
