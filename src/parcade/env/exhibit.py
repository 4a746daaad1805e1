"""What a viewer may see of one env: its picture and what is known of it. No number of the env depends on a viewer."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from parcade.env.console_env import ConsoleEnv
from parcade.env.slot import SlotEnv
from parcade.env.title_guard import TitleGuard
from parcade.game.base import Game, Place
from parcade.game.fields import FieldMeaning
from parcade.game.state_values import state_values

Picture = npt.NDArray[np.uint8]  # (height, width, 4): red, green, blue and a byte without meaning
EXTRA_DRAWING_S = 100e-6  # of a frame that only a viewer looks at: PyBoy 80 to 100 us, mGBA 60 to 110 (November 2026)
COSTLY_S = 5e-3  # an env that draws longer than this is drawn only where its game is looked at alone
LARGEST = 320  # pixels of the longer side of what an env renders; consoles show their own size
_MOST_FIELDS = 200


class GameExhibit:
    """A game on a console."""

    draws_itself = False  # its emulator does

    def __init__(self, env: ConsoleEnv) -> None:
        self._env = env
        self.extra_s = 0.0 if env.draws_always else EXTRA_DRAWING_S  # what drawing costs beside reading the picture
        self.has_places = type(env.game).place is not Game.place

    def give_up(self) -> None:
        """Do nothing: drawing in an emulator is no danger."""

    def use_guard(self, guard: TitleGuard) -> None:
        """Call the title through this guard, which may be that of all envs of a worker."""
        self._env.guard = guard

    def draw_next(self, wanted: bool) -> None:
        """Have the next step drawn, or go back to drawing only what the policy sees."""
        self._env.draw_steps(wanted)

    def picture(self, alone: bool) -> Picture | None:
        """Return what the console shows; it holds until the next step."""
        return with_alpha(self._env.console.screen())

    def parts(self) -> dict[str, float]:
        """Return the weighted parts of the last step's reward."""
        return {name: float(value) for name, value in self._env.weighted_parts().items()}

    def place(self) -> Place | None:
        """Return where the game's hero is."""
        return self._env.place()

    def facts(self) -> dict[str, Any]:
        """Return what memory means now, in words and by name, and the metrics so far."""
        env = self._env
        names, state = env.metric_names, env.state
        return {
            "words": env.words(),
            "place": env.place(),
            "screen": env.guard.screen_place(env.game, state),
            "fields": named_fields(env) or _plain(env.guard.ask("fields", lambda: state_values(state)) or {}),
            "metrics": dict(zip(names, map(float, env.episode_metrics()), strict=True)),
        }


class EnvExhibit:
    """Any other env: what it renders, if it can; a viewer else shows what the policy sees."""

    extra_s = 0.0
    has_places = False

    def __init__(self, env: SlotEnv) -> None:
        self._env = env
        self._plain: Any = getattr(env, "unwrapped", None) or getattr(getattr(env, "env", None), "unwrapped", None)
        modes = getattr(self._plain, "metadata", {}).get("render_modes", ())
        self.draws_itself = "rgb_array" in modes  # it draws, and a driver may end the process where there is no display
        self._took_s: float | None = None  # by the last picture; not known before the second: the first makes windows

    def use_guard(self, guard: TitleGuard) -> None:
        """Do nothing: there is no title."""

    def draw_next(self, wanted: bool) -> None:
        """Do nothing: such an env draws when it is asked for its picture."""

    def picture(self, alone: bool) -> Picture | None:
        """Return what the env renders; None if it cannot, or if that takes long and the game is one of many."""
        if not self.draws_itself or ((self._took_s or 0.0) > COSTLY_S and not alone):
            return None
        started = time.perf_counter()
        try:
            drawn = np.asarray(_rendered(self._plain))
        except Exception:  # an env's own code may raise anything, and a training must not end by it
            drawn = np.zeros(0, np.uint8)
        if drawn.ndim != 3 or drawn.dtype != np.uint8 or drawn.shape[2] not in (3, 4):
            self.draws_itself = False
            return None
        picture = with_alpha(_small(drawn))
        self._took_s = 0.0 if self._took_s is None else time.perf_counter() - started
        return picture

    def give_up(self) -> None:
        """Draw no more."""
        self.draws_itself = False

    def parts(self) -> dict[str, float]:
        """Return nothing: rewards of such envs have no named parts."""
        return {}

    def place(self) -> Place | None:
        """Return nothing."""
        return None

    def facts(self) -> dict[str, Any]:
        """Return the numbers of the last info, and the metrics so far."""
        names = self._env.metric_names
        told = zip(names, map(float, self._env.episode_metrics()), strict=True)
        info = getattr(self._env, "last_info", {})
        return {"fields": _plain(info), "metrics": {name: value for name, value in told if value == value}}


Exhibit = GameExhibit | EnvExhibit


def exhibit_of(env: SlotEnv) -> Exhibit:
    """Return how viewers see ``env``."""
    plain = getattr(env, "unwrapped", env)
    return GameExhibit(plain) if isinstance(plain, ConsoleEnv) else EnvExhibit(env)


def named_fields(env: ConsoleEnv) -> dict[str, Any]:
    """Return what the title's fields hold, choices by their names; empty for a title that names none."""
    found: dict[str, Any] = {}
    for name, meaning in env.game.fields.items() if "fields" not in env.guard.left_out else ():
        value = env.guard.ask(f"field {name}", partial(_field_value, env, name, meaning))
        if value is not None:
            found[name] = value
    return _plain(found)


def _field_value(env: ConsoleEnv, name: str, meaning: FieldMeaning) -> Any:
    value = meaning.reader(name)(env.progress if meaning.count is not None else env.state)
    chosen = next((word for word, number in meaning.values.items() if number == value), None)
    return chosen if chosen is not None else bool(value) if meaning.kind == "flag" else value


def _plain(values: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in dict(values).items():
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, bool | int | float | str) and len(found) < _MOST_FIELDS:
            found[str(name)[:80]] = value[:200] if isinstance(value, str) else value
    return found


def with_alpha(picture: Picture) -> Picture:
    """Return a picture with four bytes for each pixel."""
    return cv2.cvtColor(picture, cv2.COLOR_RGB2RGBA) if picture.shape[2] == 3 else picture  # type: ignore[return-value]


def _small(picture: Picture) -> Picture:
    height, width = picture.shape[:2]
    scale = LARGEST / max(height, width)
    if scale >= 1:
        return picture
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]


def _rendered(env: Any) -> Any:
    """Render an env that was made without a render mode: most look at theirs only when they draw."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # it draws into memory, with or without a display
    mode = env.render_mode
    if mode == "rgb_array":
        return env.render()
    try:
        env.render_mode = "rgb_array"
        return env.render()
    finally:
        env.render_mode = mode
