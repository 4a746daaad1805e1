"""A console and a game as a gymnasium.Env."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, SupportsInt

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.console.base import Console, button_mask
from parcade.console.picture import half_of
from parcade.env.guide import PART, EpisodeGuide
from parcade.env.info_metrics import RAW_RETURN
from parcade.env.milestones import TitleMilestones
from parcade.env.slot import WHOLE, Rows, fresh_rows, read_leaves
from parcade.env.spec import VISITED
from parcade.env.title_guard import TitleGuard
from parcade.env.visited import SIDE, Tiles, VisitedPlaces, check_visited
from parcade.errors import SettingsError, did_you_mean
from parcade.game.base import Game, Place
from parcade.game.milestone import MilestoneTracker

RELEASE_FRAMES = 1  # how long a tapped button is let go before the step ends


class EnvSnapshot(NamedTuple):
    """A moment of an episode."""

    console: bytes
    state: Any
    progress: Any
    steps: int
    parts: dict[str, float]
    reached: dict[str, int]  # by each tracker of milestones
    own_return: float
    stack: npt.NDArray[np.uint8]
    picture: npt.NDArray[np.uint8]  # a console that goes back shows none before its next frame
    visited: Tiles


class ConsoleEnv(gym.Env[Any, Any]):
    """One game on one console; observations are ``pixels``, ``features`` or both.

    Pixels are the last ``frames_stack`` frames, the oldest first, as ``picture_channels`` planes each: luminance, or
    red, green and blue without ``grayscale``; at half size the mean of 2 x 2 pixels. A frame is drawn only where it is
    looked at. A ``guide`` adds its own features, as a leaf of their own beside pixels, and its reward. ``visited`` adds
    a picture of the places the hero has been to, which is knowledge from memory.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    spec = None

    def __init__(
        self,
        console: Console,
        game: Game[Any, Any],
        *,
        observation: str = "features",
        frame_skip: int | None = None,
        frames_stack: int = 1,
        grayscale: bool = True,
        picture_size: str = "half",
        max_steps: int | None = None,
        reward_weights: Mapping[str, float] | None = None,
        save_states: Sequence[bytes] = (),
        render: bool = False,
        guide: Mapping[str, Any] | None = None,
        visited: bool = False,
    ) -> None:
        if visited:
            check_visited(game)
        self._visited = VisitedPlaces() if visited else None
        self.console, self.game, self.guard = console, game, TitleGuard(game.name)
        self.frame_skip = frame_skip or game.frame_skip
        self.max_steps = max_steps or game.max_steps
        self.milestones = TitleMilestones(game)
        self.guide = None if guide is None else EpisodeGuide(guide, game)
        self.trackers: dict[str, MilestoneTracker] = {"milestones": self.milestones}  # by what a pool's status calls it
        self.metric_names = (*game.metric_names, *self.milestones.metric_names)
        if self.guide is not None:
            self.trackers[PART] = self.guide
            self.metric_names = (*self.metric_names, *self.guide.metric_names, RAW_RETURN)
        self.render_mode = "rgb_array" if render else None
        self.metadata = {**self.metadata, "render_fps": max(1, round(60 / self.frame_skip))}
        self._weights = merged_weights(game, reward_weights or {}, () if guide is None else (PART,))
        self._masks = [button_mask(console.buttons, *action.buttons) for action in game.actions]
        self._taps = [action.tap and self.frame_skip > RELEASE_FRAMES for action in game.actions]
        self._save_states = tuple(save_states)
        self._start = game.start_from_state if save_states else game.start
        if not self._save_states and not game.restarts_itself:
            self._save_states = (console.save(),)  # power-on: every episode starts from the same machine
        self._sees_pixels = observation != "features"
        self._sees_features = observation != "pixels"
        self._draw = self.draws_always = self._sees_pixels or render
        self.picture_channels = 1 if grayscale else 3  # of one frame of the stack
        full = console.screen_shape[:2]
        size = full if picture_size == "full" else half_of(full)
        self._stack = np.zeros((frames_stack * self.picture_channels, *size), np.uint8)
        self.action_space = spaces.Discrete(len(game.actions))
        self.observation_space = self._observation_space(observation)
        is_dict = isinstance(self.observation_space, spaces.Dict)
        self._pixel_leaf = "pixels" if is_dict else WHOLE
        self._feature_leaf = "features" if is_dict else WHOLE
        self._seeds = np.random.default_rng()

    def _observation_space(self, observation: str) -> spaces.Space[Any]:
        pixels = spaces.Box(0, 255, self._stack.shape, np.uint8)
        guided = 0 if self.guide is None else len(self.guide.features)
        features = spaces.Box(-np.inf, np.inf, (len(self.game.feature_names) + guided,), np.float32)
        found: dict[str, spaces.Space[Any]] = {}
        if observation != "features":
            found["pixels"] = pixels
        if observation != "pixels":
            found["features"] = features
        elif guided:
            found[PART] = spaces.Box(-1, 1, (guided,), np.float32)
        if self._visited is not None:
            found[VISITED] = spaces.Box(0, 255, (1, SIDE, SIDE), np.uint8)
        return spaces.Dict(found) if len(found) > 1 else next(iter(found.values()))

    def begin(self, seed: int, rows: Rows) -> None:
        """Start the episode of ``seed``, which alone decides it, and write the first observation."""
        if self._save_states:
            self.console.load(self._save_states[seed % len(self._save_states)])
            self.console.advance(0, 1, self._draw)  # mGBA's states hold no picture: it is black until one is drawn
        self._start(self.console, seed)
        self._state = self.game.read(self.console)
        self._progress = self.game.begin(self._state)
        for tracker in self.trackers.values():
            tracker.begin(self._progress, self._state)
        self._own_return = 0.0
        self._steps = 0
        self._stack[:] = 0
        if self._visited is not None:
            self._visited.clear()
        self.last_parts: dict[str, float] = {}
        self._write(rows)

    def advance(self, action: SupportsInt, rows: Rows) -> tuple[float, bool, bool]:
        """Hold the action's buttons for ``frame_skip`` frames and write the observation."""
        self.emulate(action)
        return self.observe(rows)

    def emulate(self, action: SupportsInt) -> None:
        """The emulator's half of a step: hold the action's buttons for ``frame_skip`` frames."""
        choice = int(action)
        if self._taps[choice]:
            self.console.advance(self._masks[choice], self.frame_skip - RELEASE_FRAMES, False)
            self.console.advance(0, RELEASE_FRAMES, self._draw)
        else:
            self.console.advance(self._masks[choice], self.frame_skip, self._draw)

    def draw_steps(self, wanted: bool) -> None:
        """Draw the last frame of each step from now on, or only where the observation needs it."""
        self._draw = wanted or self.draws_always

    def frame_masks(self, action: int) -> list[int]:
        """Return the buttons that ``emulate`` holds in each frame of a step, for one who plays frame by frame."""
        released = RELEASE_FRAMES if self._taps[action] else 0
        return [self._masks[action]] * (self.frame_skip - released) + [0] * released

    def nearest_action(self, held: int) -> int | None:
        """Return the action whose buttons are all held, and as many of them as possible; None where none fits."""
        fitting = [index for index, mask in enumerate(self._masks) if not mask & ~held]
        return max(fitting, key=lambda index: self._masks[index].bit_count(), default=None)

    def observe(self, rows: Rows) -> tuple[float, bool, bool]:
        """The other half: read memory, count the reward, write the observation."""
        before, after = self._state, self.game.read(self.console)
        parts = self.game.reward(self._progress, before, after)
        weights = self._weights
        reward = 0.0
        for name, value in parts.items():
            reward += weights[name] * value
        self.milestones.step(self._progress, before, after)
        if self.guide is not None:
            self._own_return += reward
            paid = self.guide.pay(self._progress, before, after)
            if paid:
                parts[PART] = paid
                reward += weights[PART] * paid
        self.last_parts = parts
        self._state = after
        self._steps += 1
        terminated = self.game.over(after, self._progress)
        self._write(rows)
        return reward, terminated, not terminated and self._steps >= self.max_steps

    def _write(self, rows: Rows) -> None:
        if self.guide is not None:
            self._write_guided(self.guide.features, rows)
        elif self._sees_features:
            self.game.features(self._state, self._progress, rows[self._feature_leaf])
        if self._sees_pixels:
            self._write_pixels(rows[self._pixel_leaf])
        if self._visited is not None:
            self._visited.write(self.game.place(self._state), rows[VISITED])

    def _write_guided(self, guide: npt.NDArray[np.float32], rows: Rows) -> None:
        """Write the features with the guide's behind them, or the guide's alone beside pixels."""
        if not self._sees_features:
            rows[PART][...] = guide
            return
        row = rows[self._feature_leaf]
        self.game.features(self._state, self._progress, row[: -len(guide)])
        row[-len(guide) :] = guide

    def _write_pixels(self, row: npt.NDArray[np.uint8]) -> None:
        """Write the stack with the present frame as its newest, straight into ``row``; keep it for the next step."""
        channels, stack = self.picture_channels, self._stack
        is_stacked = len(stack) > channels
        if is_stacked:
            row[:-channels] = stack[channels:]
        if channels == 1:
            self.console.luminance(row[-1])
        else:
            self.console.colour(row[-channels:])
        if is_stacked:
            stack[...] = row

    def cell_id(self) -> int:
        """Return a number for the game's present cell, the same in every process; 0 where it has none."""
        cell = self.game.cell(self._state)
        return 0 if cell is None else _cell_number(cell)

    def episode_metrics(self) -> Sequence[float]:
        """Return the game's metrics and the milestones reached, in the order of ``metric_names``."""
        told = [*self._own_metrics(), *self.milestones.metrics()]
        return told if self.guide is None else [*told, *self.guide.metrics(), self._own_return]

    def _own_metrics(self) -> Sequence[float]:
        """Return the title's metrics; NaN, and a warning once, where it raises: an episode's end must not kill."""
        names = self.game.metric_names
        try:
            metrics = self.game.metrics(self._progress, self._state)
            return [float(metrics[name]) for name in names]
        except Exception as error:
            self.guard.note("metrics", error)
            return [math.nan] * len(names)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; without a seed the next one of this env's own sequence."""
        if seed is not None:
            self._seeds = np.random.default_rng([seed])
            self._np_random, self._np_random_seed = self._seeds, seed
        episode_seed = seed if seed is not None else int(self._seeds.integers(1 << 31))
        rows = self._fresh_rows()
        self.begin(episode_seed, rows)
        return read_leaves(self.observation_space, rows), self.last_info

    def step(self, action: SupportsInt) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; ``info`` names the parts of the reward and the game's metrics."""
        rows = self._fresh_rows()
        reward, terminated, truncated = self.advance(action, rows)
        return read_leaves(self.observation_space, rows), reward, terminated, truncated, self.last_info

    def _fresh_rows(self) -> dict[str, npt.NDArray[Any]]:
        return fresh_rows(self.observation_space)

    def snapshot(self) -> EnvSnapshot:
        """Return this moment of the episode, for ``restore``."""
        progress, stack = copy.deepcopy(self._progress), self._stack.copy()
        reached = {name: tracker.reached for name, tracker in self.trackers.items()}
        told = self._steps, dict(self.last_parts), reached, self._own_return
        visited = {} if self._visited is None else self._visited.snapshot()
        return EnvSnapshot(self.console.save(), self._state, progress, *told, stack, self.render(), visited)

    def restore(self, snapshot: EnvSnapshot) -> None:
        """Go back to a moment of this env; the next steps are what they were from there."""
        self.console.load(snapshot.console)
        self._state, self._progress = snapshot.state, copy.deepcopy(snapshot.progress)
        self._steps, self.last_parts = snapshot.steps, dict(snapshot.parts)
        self._own_return = snapshot.own_return
        for name, reached in snapshot.reached.items():
            self.trackers[name].go_back(reached)
        self._stack[...] = snapshot.stack
        if self._visited is not None:
            self._visited.restore(snapshot.visited)

    @property
    def last_info(self) -> dict[str, Any]:
        """The info of the last step: the parts of its reward and the game's metrics."""
        metrics = dict(zip(self.metric_names, self.episode_metrics(), strict=True))
        return {"reward_parts": self.weighted_parts(), "metrics": metrics}

    def weighted_parts(self) -> dict[str, float]:
        """Return the parts of the last step's reward, which is their sum."""
        return {name: self._weights[name] * value for name, value in self.last_parts.items()}

    @property
    def state(self) -> Any:
        """What memory meant after the last step."""
        return self._state

    @property
    def progress(self) -> Any:
        """The game's record of the episode."""
        return self._progress

    def place(self) -> Place | None:
        """Return where the game's hero is, where the title has maps."""
        return self.guard.place(self.game, self._state)

    def words(self) -> str | None:
        """Return this moment in the title's words, where it has some."""
        return self.guard.words(self.game, self._state)

    def render(self) -> npt.NDArray[np.uint8]:
        """Return the present picture as RGB; needs ``render=True`` at creation, else it may be stale."""
        return self.console.screen()[..., :3].copy()

    def close(self) -> None:
        """Close the console."""
        self.console.close()


@lru_cache(maxsize=1 << 16)
def _cell_number(cell: Hashable) -> int:
    """Return 64 bits of the cell's text: ``hash`` of a text differs from process to process."""
    return int.from_bytes(hashlib.blake2b(repr(cell).encode(), digest_size=8).digest(), "little") or 1


def merged_weights(game: Game[Any, Any], changes: Mapping[str, float], more: Sequence[str] = ()) -> dict[str, float]:
    """Return the weights of the title's reward parts, and 1 for ``more``, with the user's changes.

    Unknown parts are refused.
    """
    weights = {**game.reward_weights, **dict.fromkeys(more, 1.0)}
    for name in changes:
        if name not in weights:
            hint = did_you_mean(name, weights)
            raise SettingsError(f"{game.name} has no reward part {name!r}{hint}; its parts: {', '.join(weights)}")
    return {**weights, **changes}
