"""A console and a game as a gymnasium.Env."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsInt

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.console.base import Console, button_mask
from parcade.console.picture import half_of
from parcade.env.slot import WHOLE, Rows, fresh_rows, read_leaves
from parcade.errors import SettingsError, did_you_mean
from parcade.game.base import Game

RELEASE_FRAMES = 1  # how long a tapped button is let go before the step ends


class ConsoleEnv(gym.Env[Any, Any]):
    """One game on one console; observations are ``pixels``, ``features`` or both.

    Pixels are the last ``frames_stack`` frames, the oldest first, as ``picture_channels`` planes each: luminance, or
    red, green and blue without ``grayscale``; at half size the mean of 2 x 2 pixels. A frame is drawn only where it is
    looked at.
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
    ) -> None:
        self.console, self.game = console, game
        self.frame_skip = frame_skip or game.frame_skip
        self.max_steps = max_steps or game.max_steps
        self.metric_names = game.metric_names
        self.render_mode = "rgb_array" if render else None
        self.metadata = {**self.metadata, "render_fps": max(1, round(60 / self.frame_skip))}
        self._weights = merged_weights(game, reward_weights or {})
        self._masks = [button_mask(console.buttons, *action.buttons) for action in game.actions]
        self._taps = [action.tap and self.frame_skip > RELEASE_FRAMES for action in game.actions]
        self._save_states = tuple(save_states)
        self._start = game.start_from_state if save_states else game.start
        if not self._save_states and not game.restarts_itself:
            self._save_states = (console.save(),)  # power-on: every episode starts from the same machine
        self._sees_pixels = observation != "features"
        self._sees_features = observation != "pixels"
        self._draw = self._sees_pixels or render
        self.picture_channels = 1 if grayscale else 3  # of one frame of the stack
        full = console.screen_shape[:2]
        size = full if picture_size == "full" else half_of(full)
        self._stack = np.zeros((frames_stack * self.picture_channels, *size), np.uint8)
        self.action_space = spaces.Discrete(len(game.actions))
        self.observation_space = self._observation_space(observation)
        self._pixel_leaf = "pixels" if observation == "both" else WHOLE
        self._feature_leaf = "features" if observation == "both" else WHOLE
        self._seeds = np.random.default_rng()

    def _observation_space(self, observation: str) -> spaces.Space[Any]:
        pixels = spaces.Box(0, 255, self._stack.shape, np.uint8)
        features = spaces.Box(-np.inf, np.inf, (len(self.game.feature_names),), np.float32)
        if observation == "both":
            return spaces.Dict({"pixels": pixels, "features": features})
        return pixels if observation == "pixels" else features

    def begin(self, seed: int, rows: Rows) -> None:
        """Start the episode of ``seed``, which alone decides it, and write the first observation."""
        if self._save_states:
            self.console.load(self._save_states[seed % len(self._save_states)])
            self.console.advance(0, 1, self._draw)  # mGBA's states hold no picture: it is black until one is drawn
        self._start(self.console, seed)
        self._state = self.game.read(self.console)
        self._progress = self.game.begin(self._state)
        self._steps = 0
        self._stack[:] = 0
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

    def observe(self, rows: Rows) -> tuple[float, bool, bool]:
        """The other half: read memory, count the reward, write the observation."""
        before, after = self._state, self.game.read(self.console)
        parts = self.game.reward(self._progress, before, after)
        weights = self._weights
        reward = 0.0
        for name, value in parts.items():
            reward += weights[name] * value
        self.last_parts = parts
        self._state = after
        self._steps += 1
        terminated = self.game.over(after, self._progress)
        self._write(rows)
        return reward, terminated, not terminated and self._steps >= self.max_steps

    def _write(self, rows: Rows) -> None:
        if self._sees_features:
            self.game.features(self._state, self._progress, rows[self._feature_leaf])
        if self._sees_pixels:
            self._write_pixels(rows[self._pixel_leaf])

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

    def episode_metrics(self) -> Sequence[float]:
        """Return the game's metrics in the order of ``metric_names``."""
        metrics = self.game.metrics(self._progress, self._state)
        return [metrics[name] for name in self.metric_names]

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

    @property
    def last_info(self) -> dict[str, Any]:
        """The info of the last step: the parts of its reward and the game's metrics."""
        weighted = {name: self._weights[name] * value for name, value in self.last_parts.items()}
        metrics = dict(zip(self.metric_names, self.episode_metrics(), strict=True))
        return {"reward_parts": weighted, "metrics": metrics}

    def render(self) -> npt.NDArray[np.uint8]:
        """Return the present picture as RGB; needs ``render=True`` at creation, else it may be stale."""
        return self.console.screen()[..., :3].copy()

    def close(self) -> None:
        """Close the console."""
        self.console.close()


def merged_weights(game: Game[Any, Any], changes: Mapping[str, float]) -> dict[str, float]:
    """Return the title's reward weights with the user's changes; unknown parts are refused."""
    for name in changes:
        if name not in game.reward_weights:
            known = ", ".join(game.reward_weights)
            hint = did_you_mean(name, game.reward_weights)
            raise SettingsError(f"{game.name} has no reward part {name!r}{hint}; its parts: {known}")
    return {**game.reward_weights, **changes}
