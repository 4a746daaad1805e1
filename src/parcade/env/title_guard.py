"""What a title says for people only (words, places, fields): where its code raises, the games play on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from parcade.game.base import Game, Place, ScreenPlace
from parcade.host.input_file import short

log = logging.getLogger("parcade.env")
T = TypeVar("T")
FUNCTIONS = ("describe", "place", "screen_place", "fields")  # that only viewers need
_told: set[tuple[str, str]] = set()  # title and function, in this process


class TitleGuard:
    """Calls a title's functions; one that raises is named once and left out from then on."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.left_out: set[str] = set()
        self.tell: Callable[[str, str], None] = self.warn  # a worker's guard tells the trainer instead
        self.while_asked: Callable[[str], None] | None = None  # hears each function's name, and "" when it is done

    def ask(self, function: str, call: Callable[[], T]) -> T | None:
        """Return what ``call`` returns; None where it raises or did so before."""
        if function in self.left_out:
            return None
        if self.while_asked is not None:
            self.while_asked(function)
        try:
            return call()
        except Exception as error:  # a title's own code may raise anything, and a training must not end by it
            self.leave_out(function, words_of(error))
            return None
        finally:
            if self.while_asked is not None:
                self.while_asked("")

    def words(self, game: Game[Any, Any], state: Any) -> str | None:
        """Return the state in the title's words."""
        return self.ask("describe", lambda: _checked_words(game.describe(state)))

    def place(self, game: Game[Any, Any], state: Any) -> Place | None:
        """Return where the player stands."""
        return self.ask("place", lambda: _checked_place(game.place(state)))

    def screen_place(self, game: Game[Any, Any], state: Any) -> ScreenPlace | None:
        """Return where the screen lies on the map."""
        return self.ask("screen_place", lambda: _checked_screen(game.screen_place(state)))

    def leave_out(self, function: str, why: str) -> None:
        """Do without a function from now on, and say so."""
        if function not in self.left_out:
            self.left_out.add(function)
            self.tell(function, f"{why}; it is left out from now on")

    def note(self, function: str, error: Exception) -> None:
        """Say once that a function raised, for one that is asked again each time."""
        if function not in self.left_out:
            self.left_out.add(function)
            self.tell(function, f"{words_of(error)}; its values become NaN")

    def warn(self, function: str, why: str) -> None:
        """Write the warning, once in this process."""
        if (self.title, function) not in _told:
            _told.add((self.title, function))
            log.warning("the title %r: %s %s", self.title, function, why)


def words_of(error: BaseException) -> str:
    """Return what was raised in a few words."""
    text = " ".join(str(error)[:160].split())
    return f"raised {type(error).__name__}: {text}" if text else f"raised {type(error).__name__}"


def _checked_place(found: Any) -> Place | None:
    """Return a place as plain data; raise for what is none."""
    if found is None:
        return None
    name, x, y = found
    if not isinstance(name, str):
        raise TypeError(f"returned {short(found)}, wanted a map's name, a column and a row")
    name.encode()  # half a surrogate pair has no bytes
    return name, int(x), int(y)


def _checked_words(found: Any) -> str | None:
    """Return a line of words; raise for what is none."""
    if found is not None and not isinstance(found, str):
        raise TypeError(f"returned {short(found)}, wanted text")
    return found


def _checked_screen(found: Any) -> ScreenPlace | None:
    """Return where the screen lies as plain data; raise for what is no such place."""
    if found is None:
        return None
    name, left, top, height = found
    if not isinstance(name, str):
        raise TypeError(f"returned {short(found)}, wanted a map's name and three numbers")
    return ScreenPlace(name, int(left), int(top), int(height))
