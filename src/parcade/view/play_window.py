"""The window a person plays in: the picture, and beside it what is known of the game, if asked for."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.view.display import centre_window

PANEL, COLUMNS = 380, 3  # pixels beside the picture, and in how many columns its fields stand
_LINE, _GAP = 15, 8
_BACK, _INK, _DIM, _ALERT = (16, 17, 20), (225, 228, 232), (140, 146, 155), (255, 210, 120)
_LETTERS_A_LINE = 56


class PlayWindow:
    """Draws; knows no console and no keys."""

    def __init__(
        self, pygame: Any, screen_shape: tuple[int, int, int], scale: int, title: str, has_panel: bool = False
    ) -> None:
        self._pygame, self._scale, self._screen_shape = pygame, scale, screen_shape
        self._make_room(has_panel)
        pygame.display.set_caption(title)
        pygame.font.init()
        self._font = pygame.font.Font(None, 17)

    def _make_room(self, has_panel: bool) -> None:
        """Make the window as large as its contents; a small screen leaves the picture less room beside the panel."""
        self._has_panel = has_panel
        height, width, _ = self._screen_shape
        room = self._pygame.display.get_desktop_sizes()[0][0] - PANEL
        scale = max(1, min(self._scale, room // width)) if has_panel else self._scale
        self._picture = (width * scale, height * scale)
        size = (self._picture[0] + PANEL * has_panel, self._picture[1])
        self.surface = self._pygame.display.set_mode(size)
        centre_window(self._pygame, size)

    def draw(self, screen: npt.NDArray[np.uint8], facts: tuple[list[str], list[str]] | None, note: str) -> None:
        """Show the picture, the facts beside it (None: no room is made for them) and a note over it."""
        if (facts is not None) != self._has_panel:
            self._make_room(facts is not None)
        picture = self._pygame.surfarray.make_surface(screen[..., :3].swapaxes(0, 1))
        self.surface.blit(self._pygame.transform.scale(picture, self._picture), (0, 0))
        if facts is not None:
            self._draw_facts(*facts)
        if note:
            self._draw_note(note)
        self._pygame.display.flip()

    def _draw_note(self, note: str) -> None:
        text = self._font.render(note, True, _ALERT, _BACK)
        self.surface.blit(text, (_GAP, self._picture[1] - text.get_height() - _GAP))

    def _draw_facts(self, sentences: list[str], fields: list[str]) -> None:
        left, height = self._picture[0], self._picture[1]
        self.surface.fill(_BACK, (left, 0, PANEL, height))
        lines = [part for sentence in sentences for part in textwrap.wrap(sentence, _LETTERS_A_LINE)]
        rows = (height - 2 * _GAP) // _LINE
        for row, line in enumerate(lines[:rows]):
            self._write(line, left + _GAP, row, _INK)
        first = len(lines) + 1
        for column, texts in enumerate(in_columns(fields, max(0, rows - first), COLUMNS)):
            for row, text in enumerate(texts):
                self._write(text, left + _GAP + column * (PANEL // COLUMNS), first + row, _DIM)

    def _write(self, text: str, left: int, row: int, ink: tuple[int, int, int]) -> None:
        self.surface.blit(self._font.render(text, True, ink), (left, _GAP + row * _LINE))


def in_columns(texts: list[str], rows: int, columns: int) -> list[list[str]]:
    """Return the texts in columns of at most ``rows``; where they do not fit, the last line counts the rest.

    >>> in_columns(["a", "b", "c", "d", "e"], 2, 2)
    [['a', 'b'], ['c', '… 2 more']]
    """
    room = rows * columns
    if room and len(texts) > room:
        texts = [*texts[: room - 1], f"… {len(texts) - room + 1} more"]
    return [texts[start : start + rows] for start in range(0, min(len(texts), room), rows)] if rows else []
