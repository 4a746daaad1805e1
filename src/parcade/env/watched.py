"""An env somebody looks at: now and then it lays down its picture and what the policy sees."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from parcade.env.console_env import ConsoleEnv
from parcade.env.pace import Pacer
from parcade.env.picture_file import CLOSED, PictureWriter, Shown
from parcade.env.slot import Rows, as_slot_env
from parcade.env.spec import Watch

_SHARE = 9.0  # a picture is followed by at least nine times its own cost of play
_MOST_PER_S = 20.0

log = logging.getLogger("parcade.env")


class WatchedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """The env itself, to the last number; beside it, pictures are written to a file of ``watch.folder``."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        watch: Watch,
        slot: int = 0,
        step_s: float = 0.1,
        info_keys: Sequence[str] = (),
    ) -> None:
        super().__init__(env)
        self._inner, self._watch = as_slot_env(env, info_keys), watch
        self.metric_names = self._inner.metric_names
        self.trackers = getattr(self._inner, "trackers", {})
        self._closed = Path(watch.folder, CLOSED)
        self._writer: PictureWriter | None = PictureWriter(watch.folder, watch.label, slot)
        self._why_not = "" if watch.raw else "not asked for"
        if not self._why_not and env.render_mode is None:  # Gymnasium would warn of it for every picture
            self._why_not = "cannot be drawn: it has no render mode rgb_array"
        self._next_s, self._since, self._step, self._total = 0.0, 0, 0, 0.0
        self._action: Any = None  # of the last step
        self._waited = False  # for the last step: there is time to show it
        self._pacer = None if watch.speed is None else Pacer(watch.folder, watch.speed, step_s)

    def begin(self, seed: int, rows: Rows) -> None:
        """Start the episode of ``seed``."""
        self._inner.begin(seed, rows)
        self._step, self._total, self._action = 0, 0.0, None
        self._look(rows)

    def cell_id(self) -> int:
        """Return the number of the game's present cell."""
        return int(self._inner.cell_id())  # type: ignore[attr-defined]

    def advance(self, action: Any, rows: Rows) -> tuple[float, bool, bool]:
        """Take one step, at the pace that was asked for."""
        if self._pacer is not None and self._writer is not None:
            self._waited = self._pacer.wait()
        reward, terminated, truncated = self._inner.advance(action, rows)
        self._step += 1
        self._action = action
        self._total += reward
        self._look(rows)
        return reward, terminated, truncated

    def episode_metrics(self) -> Sequence[float]:
        """Return those of the env."""
        return self._inner.episode_metrics()

    @property
    def last_info(self) -> dict[str, Any]:
        """What the env told last."""
        found: dict[str, Any] = getattr(self._inner, "last_info", {})
        return found

    def close(self) -> None:
        """Close the env and let the file go."""
        self._stop()
        super().close()

    def _look(self, rows: Rows) -> None:
        if self._writer is None or not self._is_due():
            return
        started = time.perf_counter()
        if self._closed.exists():
            self._stop()
            return
        raw = self._raw()
        channels = getattr(self.env, "picture_channels", 1)
        try:
            self._writer.write(
                Shown("", self._step, self._total, raw, self._why_not, dict(rows), channels, self._words())
            )
        except OSError as error:
            log.warning("no more pictures for the window: %s", error.strerror)
            self._stop()
        now = time.perf_counter()
        self._next_s = now + max(_SHARE * (now - started), 1.0 / _MOST_PER_S)

    def _is_due(self) -> bool:
        if self._watch.every is None:
            return self._waited or time.perf_counter() >= self._next_s
        self._since += 1
        if self._since % self._watch.every:
            return self._since == 1  # the first picture at once
        return True

    def _raw(self) -> npt.NDArray[np.uint8] | None:
        """Return the env's own picture; one that cannot draw is asked once and plays on."""
        if self._why_not:
            return None
        try:
            picture = np.asarray(self.env.render())
        except Exception as error:
            self._why_not = f"cannot be drawn: {error}"
            return None
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            self._why_not = "draws no picture"
            return None
        return picture

    def _words(self) -> str:
        """Return what the env was told to do in its last step."""
        return "" if self._action is None else action_words(self.env, self._action)

    def _stop(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def action_words(env: gym.Env[Any, Any], action: Any) -> str:
    """Return an action for people: a title's by its name and buttons, others as numbers."""
    plain = env.unwrapped
    if isinstance(plain, ConsoleEnv):
        chosen = plain.game.actions[int(action)]
        buttons = "+".join(chosen.buttons)
        return chosen.name if buttons in ("", chosen.name) else f"{chosen.name} ({buttons})"
    return " ".join(f"{number:.2f}".removesuffix(".00") for number in np.ravel(np.asarray(action)).tolist())
