"""The pace of an env somebody looks at: the window writes what it wants into a file, the env waits before a step."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from parcade.env.console_env import ConsoleEnv
from parcade.env.picture_file import CLOSED

CONTROL = "control.json"
FRAMES_PER_S = 60
USUAL_FPS = 30  # of a Gymnasium env that does not tell
_LOOK_EVERY_S = 0.01


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person at the window wants."""

    speed: float = 1.0  # times the game's own; 0 is as fast as it goes
    paused: bool = False
    single_steps: int = 0  # asked for since the window opened


def write_wish(folder: Path, wish: Wish) -> None:
    """Lay the wish down; a reader sees the old one or the new one, never half of it."""
    draft = folder / f"{CONTROL}.draft"
    draft.write_text(json.dumps(asdict(wish)), encoding="utf-8")
    os.replace(draft, folder / CONTROL)


def read_wish(folder: Path) -> Wish | None:
    """Return the last wish; None if there was none."""
    try:
        return Wish(**json.loads((folder / CONTROL).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def step_seconds(env: gym.Env[Any, Any], frame_skip: int | None) -> float:
    """Return how long a step of the env takes at the game's own speed."""
    plain = env.unwrapped
    if isinstance(plain, ConsoleEnv):
        return plain.frame_skip / FRAMES_PER_S
    frames = getattr(env, "frames_per_step", frame_skip or 1)
    return frames / float(env.metadata.get("render_fps") or USUAL_FPS)


class Pacer:
    """Lets one env take a step when it is due. A closed window lets it run."""

    def __init__(self, folder: str, speed: float, step_s: float) -> None:
        self._folder, self._step_s, self._usual = Path(folder), step_s, Wish(speed)
        self._last_s = time.monotonic()
        self._single_steps = 0

    def wait(self) -> bool:
        """Return when the next step is due, or was asked for, or nobody looks any more; and whether it waited."""
        waited = False
        while not (self._folder / CLOSED).exists():
            wish = read_wish(self._folder) or self._usual
            if wish.single_steps > self._single_steps:
                self._single_steps += 1
                waited = True
                break
            left_s = self._left_s(wish)
            if left_s is not None and left_s <= 0:
                break
            time.sleep(_LOOK_EVERY_S if left_s is None else min(left_s, _LOOK_EVERY_S))
            waited = True
        self._last_s = time.monotonic()
        return waited

    def _left_s(self, wish: Wish) -> float | None:
        """Return how long until the next step is due; None: it is never due by itself."""
        if wish.paused:
            return None
        return self._last_s + self._step_s / wish.speed - time.monotonic() if wish.speed else 0.0
