"""Kept episodes played again: an emulator of the server's own, steered by one page."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.env.console_env import ConsoleEnv
from parcade.env.exhibit import named_fields, with_alpha
from parcade.env.replay import EpisodeReplay, open_replay
from parcade.errors import EpisodeFileError, UserError
from parcade.run.atomic import write_atomic
from parcade.run.episodes import EpisodeRecord
from parcade.run.kept_episodes import INDEX, file_name, read_index
from parcade.run.video import VideoFile
from parcade.view.page.asked_policy import MOST_AT_ONCE, AskedPolicy
from parcade.view.page.choices import distribution
from parcade.view.page.png import png
from parcade.view.page.telling import plain

STRIP = 120  # steps whose reward parts are shown
STATES = "states"  # the folder of a run for moments that were saved
_FILM_WIDTH = 480
_LONGEST_FILM = 60_000  # steps


class ReplaySession:
    """One episode on its own console; the callers take turns."""

    def __init__(self, run: Path, number: int) -> None:
        self._run, self.number = run, number
        record, where = kept_episode(run, number)
        self._replay = open_replay(record, where)
        self._record = record
        self._strip: deque[tuple[int, float, dict[str, float]]] = deque(maxlen=STRIP)
        self.policy = AskedPolicy(run, record.env_steps)
        self._taken = record.actions.get("obs")  # of an action that has several parts, none is shown as taken

    @property
    def length(self) -> int:
        """Steps of the episode."""
        return self._replay.length

    @property
    def position(self) -> int:
        """Steps taken."""
        return self._replay.position

    @property
    def step_s(self) -> float:
        """How long a step lasts at the game's own speed."""
        return self._replay.step_s

    def about(self) -> dict[str, Any]:
        """Return what the numbers mean, as a running training tells it."""
        game = getattr(self._replay.env.unwrapped, "game", None)
        told: dict[str, Any] = {
            "kind": "about",
            "length": self.length,
            "step_s": self.step_s,
            "channels": getattr(self._replay.env, "picture_channels", 1),
            "recorded": {**self._record.facts(), "origin": self._record.origin.player},
        }
        if game is not None:
            told |= {
                "title": game.title,
                "actions": [{"name": action.name, "buttons": list(action.buttons)} for action in game.actions],
                "reward_parts": list(game.reward_weights),
                "feature_names": game.feature_names,
            }
        return told

    def go_to(self, position: int) -> None:
        """Go to the moment after so many steps; what was paid and thought on the way is noted."""
        position = max(0, min(position, self.length))
        is_far = position < self.position or position - self.position > 4 * STRIP
        if is_far or not self.policy.follows(self.position):
            self._walk_again(position)
        else:
            self._walk(position)

    def look_again(self) -> None:
        """Have the policy think of this moment and of those before it: it was not there when they were passed."""
        self._walk_again(self.position)

    def _walk_again(self, position: int) -> None:
        self._strip.clear()
        self._replay.seek(self.policy.start_before(max(0, position - STRIP)))
        self._walk(position)

    def _walk(self, position: int) -> None:
        first, seen = self.position, [self._seen_rows()] if not position else []
        while self.position < position:
            rows = self._seen_rows()
            if not self._replay.step():
                break
            seen.append(rows)
            self._strip.append((self.position, self._replay.reward, self._replay.parts()))
            if len(seen) == MOST_AT_ONCE:
                self.policy.think(first, seen)
                first, seen = self.position, []
        self.policy.think(first, seen)

    def _seen_rows(self) -> dict[str, npt.NDArray[Any]]:
        return {leaf: row.copy() for leaf, row in self._replay.rows.items()}

    def picture(self) -> npt.NDArray[np.uint32]:
        """Return this moment's picture as numbers of 32 bits."""
        drawn = with_alpha(np.ascontiguousarray(self._replay.picture()))
        return np.ascontiguousarray(drawn).view(np.uint32)[..., 0]

    def seen(self) -> dict[str, npt.NDArray[np.uint8]]:
        """Return the pictures that the policy sees, by leaf name."""
        return {leaf: row for leaf, row in self._replay.rows.items() if row.dtype == np.uint8 and row.ndim == 3}

    def moment(self) -> dict[str, Any]:
        """Return all that is known of this moment."""
        replay, record = self._replay, self._record
        vectors = {leaf: row for leaf, row in replay.rows.items() if not (row.dtype == np.uint8 and row.ndim == 3)}
        return {
            "kind": "detail",
            "slot": 0,
            "position": self.position,
            "step": self.position,
            "return": plain(replay.total_reward),
            "action": replay.action(),
            "words": replay.words(),
            "place": replay.place(),
            "strip": list(self._strip),
            "metrics": {name: plain(value) for name, value in replay.metrics().items()},
            "fields": self._fields(),
            "vectors": {leaf: [plain(value) for value in np.ravel(row).tolist()] for leaf, row in vectors.items()},
            **self._thoughts(),
            "is_over": replay.is_over,
            "is_exact": self.position == record.length and replay.total_reward == record.total_reward,
        }

    def _thoughts(self) -> dict[str, Any]:
        """Return what the saved policy would have chosen from where the last action was taken, and what it expected."""
        thought = self.policy.thought(max(0, self.position - 1))
        if thought is None:
            return {"choice": None, "value": None, "values": []}
        taken = [] if self._taken is None or not self.position else np.ravel(self._taken[self.position - 1]).tolist()
        passed = [self.policy.thought(step - 1) for step, _, _ in self._strip]
        return {
            "choice": distribution(self.policy.about, thought.params.astype(np.float64), taken),
            "value": plain(thought.value),
            "values": [None if one is None else plain(one.value) for one in passed],
        }

    def _fields(self) -> dict[str, Any]:
        env = self._replay.env.unwrapped
        return (named_fields(env) if isinstance(env, ConsoleEnv) else {}) or self._replay.fields()

    def save_moment(self) -> Path:
        """Write this moment as a start state, with its picture beside it, into the run's folder; return its file."""
        path = self._run / STATES / f"episode_{self.number}_step_{self.position}.state"
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, self._replay.save_state())
            write_atomic(path.with_suffix(".png"), png(np.ascontiguousarray(self._replay.picture())))
        except OSError as error:
            raise UserError(f"no state can be saved in {path.parent}: {error.strerror}") from None
        return path

    def close(self) -> None:
        """Close the console and let the policy go; twice is fine."""
        self.policy.close()
        self._replay.close()


def kept_episode(run: Path, number: int) -> tuple[EpisodeRecord, str]:
    """Return one of a run's kept episodes and the file it is in."""
    folder = run / "episodes"
    index = read_index(folder)
    if number not in index.facts:
        raise EpisodeFileError(f"episode {number} is no longer kept; newer episodes replaced it")
    return index.load(number), str(folder / file_name(number))


def kept_facts(run: Path) -> dict[str, Any]:
    """Return which episodes a run has kept, and why; an index that is damaged is told in words."""
    nothing: dict[str, Any] = {"episodes": [], "kinds": {}, "reached": {}}
    if not (run / "episodes" / INDEX).exists():
        return nothing
    try:
        return read_index(run / "episodes").to_dict()
    except EpisodeFileError as error:
        return {**nothing, "words": str(error).replace(f"{run}/", "")}


_filming = threading.Lock()  # one film at a time: each takes an emulator and an encoder
MOST_FILMS = 4  # that are made or wait
_films = threading.BoundedSemaphore(MOST_FILMS)


def film(run: Path, number: int, path: Path) -> None:
    """Write an episode to ``path`` as a video at the game's own speed."""
    record, where = kept_episode(run, number)
    if record.length > _LONGEST_FILM:
        raise UserError(f"episode {number} has {record.length:,} steps; `parcade replay` can film it")
    if not _films.acquire(blocking=False):
        raise UserError(f"{MOST_FILMS} films are being made already; try again when one is done")
    try:
        with _filming, open_replay(record, where) as replay:
            _film(replay, path)
    finally:
        _films.release()


def _film(replay: EpisodeReplay, path: Path) -> None:
    first = replay.picture()
    size, fps = (first.shape[0], first.shape[1]), 1.0 / replay.step_s
    video = VideoFile(path, size, fps, scale=max(1, _FILM_WIDTH // first.shape[0]))
    try:
        video.append(first)
        while replay.step():
            video.append(replay.picture())
    except BaseException:
        video.discard()
        raise
    video.close()
