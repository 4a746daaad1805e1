"""A game in a person's hands: start states, what memory means and what it is worth; knows no window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.errors import UserError

if TYPE_CHECKING:
    from parcade.console.base import Console
    from parcade.game.base import Game

_FRAME_SKIP = 6  # of a ROM without a title


class PlaySession:
    """One console, played frame by frame.

    An episode begins with ``restart`` or with a loaded state; from there on rewards are counted as in training. A ROM
    without a title has neither fields nor rewards.
    """

    is_recording = False

    def __init__(
        self,
        console: Console,
        game: Game[Any, Any] | None,
        folder: Path,
        seed: int = 0,
        start: bytes | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.console, self.game, self.frames, self.held = console, game, 0, 0
        self._folder, self._seed, self._weights = folder, seed, dict(weights or (game.reward_weights if game else {}))
        from parcade.env.title_guard import TitleGuard

        self._guard = TitleGuard(game.name if game else "")
        self._power_on, self._given = console.save(), start
        self._last = start  # what `load` brings back
        self._progress: Any = None  # None: no episode has begun
        self._state: Any = None
        self._totals: dict[str, float] = {}
        self._steps = 0
        self.note = ""  # what happened that nobody asked for
        if start is not None:
            self._load(start)

    @property
    def _frame_skip(self) -> int:
        return self.game.frame_skip if self.game else _FRAME_SKIP

    def advance(self, held: int) -> None:
        """Play one frame; after every step's frames memory is read and the reward counted."""
        self.console.advance(held, 1)
        self.held, self.frames = held, self.frames + 1
        if self.game is not None and self.frames % self._frame_skip == 0:
            self._count_rewards(self.game)

    def restart(self) -> str:
        """Begin an episode, as a training would: from the state that was given, or from power-on; say so."""
        self.console.load(self._power_on if self._given is None else self._given)
        if self.game is not None:
            start = self.game.start if self._given is None else self.game.start_from_state
            start(self.console, self._seed)
        self._begin()
        return "an episode begins"

    def close(self) -> str:
        """End the session; return what there is to say."""
        return ""

    def save(self) -> Path:
        """Write the present moment as a start state, with its picture beside it, and return its file."""
        import cv2
        import numpy as np

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = {path.stem for path in self._folder.iterdir()}
            path = self._folder / f"{next(n for n in range(1, 100_000) if f'{n:03d}' not in taken):03d}.state"
            self._last = self.console.save()
            path.write_bytes(self._last)
            picture = np.ascontiguousarray(self.console.screen()[..., 2::-1])
            path.with_suffix(".png").write_bytes(cv2.imencode(".png", picture)[1].tobytes())
        except OSError as error:
            raise UserError(f"no state can be saved in {self._folder}: {error.strerror}") from None
        return path

    def use_of(self, path: Path) -> str:
        """Return what the state just saved is good for; a ROM without a title does not say more."""
        from parcade.env.make import BEFORE_THE_GAME

        if self.game is not None and not self.game.can_start_from(self.game.read(self.console)):
            return BEFORE_THE_GAME
        return f"train from it with --state {path}"

    def load(self) -> bool:
        """Put the last state that was saved or given back; return whether there was one."""
        if self._last is not None:
            self._load(self._last)
        return self._last is not None

    def _load(self, state: bytes) -> None:
        self.console.load(state)
        self.console.advance(0, 1)  # mGBA's states hold no picture
        self._begin()

    def _begin(self) -> None:
        self._totals, self._steps = {}, 0
        if self.game is not None:
            self._state = self.game.read(self.console)
            self._progress = self.game.begin(self._state)

    def _count_rewards(self, game: Game[Any, Any]) -> None:
        """Read the memory after a step, and add its rewards if an episode is under way."""
        before, self._state = self._state, game.read(self.console)
        if self._progress is None:
            return
        self._steps += 1
        for part, value in game.reward(self._progress, before, self._state).items():
            self._totals[part] = self._totals.get(part, 0.0) + self._weights[part] * value

    def facts(self) -> tuple[list[str], list[str]]:
        """Return what is known of this moment: sentences (buttons, words, rewards so far), and the decoded fields."""
        lines = [f"held: {self._held_words()}"]
        if self.game is None:
            return [*lines, "this ROM has no title: no fields, no rewards"], []
        if self._state is None:
            self._state = self.game.read(self.console)
        return [*lines, *self._words(self.game), *self._rewards()], field_lines(self._state)

    def _held_words(self) -> str:
        from parcade.console.base import button_mask

        names = [name for bit, name in enumerate(self.console.buttons) if self.held >> bit & 1]
        actions = self.game.actions if self.game else ()
        chosen = [a.name for a in actions if button_mask(self.console.buttons, *a.buttons) == self.held]
        return "+".join(names or ["nothing"]) + (f" (action {chosen[0]})" if chosen else "")

    def _words(self, game: Game[Any, Any]) -> list[str]:
        place, words = self._guard.place(game, self._state), self._guard.words(game, self._state)
        lines = [f"place: {place[0]}, column {place[1]}, row {place[2]}"] if place else []
        return lines + ([words] if words else [])

    def _rewards(self) -> list[str]:
        if self._progress is None:
            return ["R begins an episode; rewards are counted from there"]
        total = sum(self._totals.values())
        parts = [f"  {name} {value:+.2f}" for name, value in self._totals.items() if value]
        return [f"return {total:.2f} after {self._steps} steps", *parts]


def field_lines(state: Any) -> list[str]:
    """Return the state's plain values as ``name value``."""
    from parcade.game.state_values import state_values

    return [f"{name} {value}" for name, value in state_values(state).items()]
