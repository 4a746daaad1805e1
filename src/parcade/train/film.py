"""A video of some episodes: one game, drawn at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from parcade.env.pace import FRAMES_PER_S, USUAL_FPS
from parcade.errors import EnvError, PoolError
from parcade.pool.block import Block
from parcade.pool.pool import Pool
from parcade.run.video import VideoFile

Picture = npt.NDArray[np.uint8]
FILMED_EPISODES = 3
LONGEST_S = 60  # of a video
_PICTURE_EVERY, _MOST_PICTURES = 40, 5


@dataclass(frozen=True, slots=True)
class Film:
    """A video file and some pictures of it, each with its caption."""

    path: str
    pictures: tuple[tuple[str, Picture], ...]


def film_episodes(
    pool: Pool, step: Callable[[], Block], path: Path, episodes: int, stopped: Callable[[], bool] | None = None
) -> Film:
    """Write a video of the pool's first episodes, a minute at most; ``step`` takes one step in its only slot."""
    if pool.call(0, "get", "render_mode") is None:  # Gymnasium would warn of it for every picture
        raise EnvError(f"{pool.spec.label} cannot be filmed: it has no render mode rgb_array")
    pool.reset()
    pictures: list[tuple[str, Picture]] = []
    fps = _steps_per_s(pool)
    first = _frame(pool)
    video = VideoFile(path, (first.shape[0], first.shape[1]), fps, scale=max(1, 480 // first.shape[0]))
    try:
        ended, length = 0, 0
        for _ in range(max(1, int(LONGEST_S * fps))):
            frame = _frame(pool)
            video.append(frame)
            if ended == 0 and length % _PICTURE_EVERY == _PICTURE_EVERY // 2 and len(pictures) < _MOST_PICTURES:
                pictures.append((f"episode 1, step {length}", frame))
            over = bool(step().ended[0, 0])
            ended, length = ended + over, 0 if over else length + 1
            if ended == episodes or (stopped is not None and stopped()):
                break
    finally:
        video.close()
    return Film(str(path), tuple(pictures))


def _steps_per_s(pool: Pool) -> float:
    """Return how many steps the game takes in a second at its own speed: the video has one picture for each."""
    if pool.spec.game is not None:
        return float(FRAMES_PER_S / pool.call(0, "get", "frame_skip"))
    fps = float(pool.call(0, "get", "metadata").get("render_fps") or USUAL_FPS)
    is_told = pool.call(0, "has", "frames_per_step")
    return fps / (pool.call(0, "get", "frames_per_step") if is_told else 1)


def _frame(pool: Pool) -> Picture:
    """Return what the env draws; one that cannot is told in one sentence."""
    try:
        frame = np.asarray(pool.call(0, "call", "render"))
    except PoolError as error:
        why = str(error).partition("failed: ")[2] or error
        raise EnvError(f"{pool.spec.label} cannot be filmed: {why}") from None
    if frame.ndim != 3:
        raise EnvError(f"{pool.spec.label} cannot be filmed: it draws no picture")
    return np.array(frame, np.uint8)
