"""Preprocessing of any Gymnasium env: skip, crop, grey, resize, stack, clip; written in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.env.frames import StepFrames
from parcade.env.info_metrics import RAW_RETURN, InfoMetrics
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.slot import WHOLE, Rows, fresh_rows, read_leaves, write_leaves
from parcade.errors import EnvError, SettingsError

Picture = npt.NDArray[np.uint8]
_TO_GREY = {3: cv2.COLOR_RGB2GRAY, 4: cv2.COLOR_RGBA2GRAY}


class PreprocessedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An env whose observation is prepared for learning.

    Pictures (uint8 Box of 2 or 3 axes, channels last or first) become (stack * channels, height, width); ``crop`` cuts
    pixels off their top, right, bottom and left before anything else. Other observations pass unchanged. Rewards of the
    skipped frames are summed, then clipped; the ``frame_cost`` that an env may state is taken off the sum. Which frames
    a step takes and draws is told in ``StepFrames``. An episode of ``patience`` steps in a row without a positive
    reward, costs aside, is over. The env is given each action axis times its number of ``action_scale``: a range in
    which nothing useful happens need not be explored.
    The metric ``raw_return`` is the return without clipping and costs.
    """

    def __init__(
        self, env: gym.Env[Any, Any], wanted: Preprocessing | None = None, info_keys: Sequence[str] = ()
    ) -> None:
        super().__init__(env)
        wanted = Preprocessing() if wanted is None else wanted
        self._metrics = InfoMetrics(info_keys)
        self.last_info: dict[str, Any] = {}
        self._counts_others = bool(wanted.reward_clip or wanted.missed_tile_cost)
        self.metric_names = (*self._metrics.names, *([RAW_RETURN] if self._counts_others else []))
        self._frames = StepFrames(env, wanted)
        self.frames_per_step = self._frames.per_step
        self._max_steps, self._clip, self._patience = wanted.max_steps, wanted.reward_clip, wanted.patience
        scale = wanted.action_scale
        self._action_scale = None if scale is None else _fitting_scale(scale, env.action_space)
        limit = env.spec.max_episode_steps if env.spec is not None else None
        if self._frames.is_lazy and limit is not None and self._max_steps is None:
            # stepping past the wrappers, their time limit is kept here
            self._max_steps = -(-limit // (wanted.frame_skip or 1))
        self._is_picture = is_picture(env.observation_space)
        self._seen = env.observation_space
        if self._is_picture:
            self._plan_pictures(env.observation_space.shape or (), wanted)
        elif wanted.grayscale or wanted.crop or wanted.resize or wanted.frames_stack > 1 or wanted.max_over_frames:
            raise EnvError(
                "grayscale, crop, resize, frames_stack and max_over_frames need a uint8 picture, but "
                f"{env.spec and env.spec.id} observes {env.observation_space}"
            )
        if wanted.max_over_frames and self.frames_per_step < 2:
            raise EnvError("max_over_frames looks at a step's last two frames; give frame_skip 2 or more")
        if self._frames.is_lazy:  # a pool lets all its envs run before any of them is looked at
            self.emulate, self.observe = self._run, self._finish

    def _plan_pictures(self, shape: tuple[int, ...], wanted: Preprocessing) -> None:
        """Set what becomes of a picture of ``shape``, and the observation space that follows."""
        self._channels_first = _is_channels_first(shape)
        if self._channels_first:
            shape = (*shape[1:], shape[0])
        self._kept, self._grey = kept_part(shape, wanted.crop), bool(wanted.grayscale)
        height, width = (part.stop - part.start for part in self._kept)
        self._size = tuple(wanted.resize) if wanted.resize else (height, width)
        channels = 1 if self._grey or len(shape) == 2 else shape[2]
        self.picture_channels = channels  # of one frame of the stack
        self._stack = np.zeros((wanted.frames_stack, channels, *self._size), np.uint8)
        self.observation_space = spaces.Box(0, 255, (wanted.frames_stack * channels, *self._size), np.uint8)

    def begin(self, seed: int | None, rows: Rows, options: dict[str, Any] | None = None) -> None:
        """Reset and write the first observation; the stack is filled with it."""
        observation = self._frames.begin(seed, options)
        self.last_info = self._frames.info
        self._steps = self._fruitless = 0
        self._raw_return = 0.0
        if self._is_picture:
            self._stack[:] = self._prepare(observation)
        self._write(observation, rows)

    def advance(self, action: Any, rows: Rows) -> tuple[float, bool, bool]:
        """Take ``frame_skip`` frames with one action, write the last observation."""
        self._run(action)
        return self._finish(rows)

    def _run(self, action: Any) -> None:
        self._frames.run(action if self._action_scale is None else action * self._action_scale)

    def _finish(self, rows: Rows) -> tuple[float, bool, bool]:
        observation, total, cost, terminated, truncated = self._frames.look()
        self.last_info = self._frames.info
        self._steps += 1
        self._raw_return += total
        self._fruitless = 0 if total > 0 else self._fruitless + 1
        if self._patience is not None and self._fruitless >= self._patience:
            terminated = True  # hopeless: what could still come counts for nothing
        total -= cost
        if self._max_steps and self._steps >= self._max_steps and not terminated:
            truncated = True
        if self._is_picture:
            self._stack[:-1] = self._stack[1:]
            self._stack[-1] = self._prepare(observation)
        self._write(observation, rows)
        if self._clip is not None:
            total = max(-self._clip, min(self._clip, total))
        return total, terminated, truncated

    def _prepare(self, picture: Picture) -> Picture:
        seen = self._seen
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.shape != seen.shape:
            given = fresh_rows(seen)
            write_leaves(seen, picture, given)  # refuses what is no such picture
            picture = given[WHOLE]
        if self._channels_first:
            picture = np.ascontiguousarray(picture.transpose(1, 2, 0))
        picture = picture[self._kept]
        if self._grey and picture.ndim == 3:
            conversion = _TO_GREY.get(picture.shape[2])
            picture = picture[..., 0] if conversion is None else cv2.cvtColor(picture, conversion)  # type: ignore[assignment]
        if picture.shape[:2] != self._size:
            picture = cv2.resize(picture, self._size[::-1], interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
        return picture[None] if picture.ndim == 2 else picture.transpose(2, 0, 1)

    def _write(self, observation: Any, rows: Rows) -> None:
        if self._is_picture:
            rows[WHOLE][...] = self._stack.reshape(self.observation_space.shape)
        else:
            write_leaves(self.observation_space, observation, rows)

    def episode_metrics(self) -> Sequence[float]:
        """Return what the last info tells, and the return before clipping and costs where there are any."""
        values = self._metrics.values(self.last_info)
        return [*values, self._raw_return] if self._counts_others else values

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset as any gymnasium.Env."""
        rows = self._fresh_rows()
        self.begin(seed, rows, options)
        return read_leaves(self.observation_space, rows), self.last_info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step as any gymnasium.Env."""
        rows = self._fresh_rows()
        reward, terminated, truncated = self.advance(action, rows)
        return read_leaves(self.observation_space, rows), reward, terminated, truncated, self.last_info

    def _fresh_rows(self) -> dict[str, npt.NDArray[Any]]:
        return fresh_rows(self.observation_space)


def is_picture(space: spaces.Space[Any]) -> bool:
    """Return whether an observation is a picture."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) in (2, 3)


def kept_part(shape: tuple[int, ...], crop: tuple[int, int, int, int] | None) -> tuple[slice, slice]:
    """Return what is left of a picture (height, width, …) when ``crop`` is cut off its four sides.

    >>> kept_part((96, 96, 3), (0, 6, 12, 6))
    (slice(0, 84, None), slice(6, 90, None))
    """
    height, width = shape[:2]
    top, right, bottom, left = crop or (0, 0, 0, 0)
    if top + bottom >= height or left + right >= width:
        raise SettingsError(
            f"crop {top},{right},{bottom},{left} (top, right, bottom, left) leaves nothing of a picture "
            f"{height} high and {width} wide"
        )
    return slice(top, height - bottom), slice(left, width - right)


def _is_channels_first(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4)


def _fitting_scale(scale: tuple[float, ...], space: spaces.Space[Any]) -> npt.NDArray[np.float32]:
    given = f"action_scale is {','.join(map(str, scale))}"
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise EnvError(f"{given}, which needs a row of continuous actions, but the action space is {space}")
    if len(scale) != space.shape[0] or not all(0 < factor <= 1 for factor in scale):
        raise EnvError(f"{given}, wanted {space.shape[0]} numbers above 0 and up to 1, one for each axis of {space}")
    return np.array(scale, np.float32)
