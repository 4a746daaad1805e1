"""Atari games frame by frame: cheap starts, screens only where they are looked at, lives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec as RegisteredEnv

from parcade.env.spec import EnvSpec
from parcade.errors import EnvError

FRAMES_PER_S = 60
NOOP = 0  # the first action of every Atari game
_PICTURES = ("rgb", "grayscale")


class AtariFrames(gym.Wrapper[Any, Any, Any, Any]):
    """An env of ale-py that takes one frame at a time, drawn only where it is looked at.

    ale-py loads the ROM anew for every seed, which takes as long as a thousand frames. The machine after a reset is the
    same for every seed if actions are not repeated by chance, so it is kept once and put back at each reset; what is
    left to chance (no-op starts, sticky actions) is decided by the episode's seed in ``PreprocessedEnv``. The env must
    be made with ``frame_arguments``; ``own_skip`` and ``own_stickiness`` are what was asked of it instead.
    """

    def __init__(self, env: gym.Env[Any, Any], own_skip: int, own_stickiness: float) -> None:
        super().__init__(env)
        plain: Any = env.unwrapped
        self.own_skip, self.own_stickiness = own_skip, own_stickiness
        self.metadata = {**env.metadata, "render_fps": FRAMES_PER_S}
        self._ale = plain.ale
        few, all_ = self._ale.getMinimalActionSet(), self._ale.getLegalActionSet()
        self._actions = few if len(few) == plain.action_space.n else all_
        meanings: list[str] = plain.get_action_meanings()
        self.fire = meanings.index("FIRE") if "FIRE" in meanings else None
        self._is_at_start = False
        shape = env.observation_space.shape or ()
        self._draw = self._ale.getScreenRGB if len(shape) == 3 else self._ale.getScreenGrayscale
        self._pictures = [np.empty(shape, np.uint8) for _ in range(2)]  # the last two that were looked at
        env.reset(seed=0)
        self._start = self._ale.cloneState()  # without its picture
        self._first, self._first_rgb = self.observe().copy(), self._ale.getScreenRGB()
        self._is_at_start = True

    @property
    def lives(self) -> int:
        """Lives that are left; 0 in games that have none."""
        return int(self._ale.lives())

    def restart(self) -> None:
        """Put the machine back to the start of a game."""
        self._ale.restoreState(self._start)
        self._is_at_start = True

    def advance(self, action: int) -> tuple[float, bool, bool]:
        """Take one frame; return reward, terminated and truncated."""
        ale, self._is_at_start = self._ale, False
        reward = ale.act(self._actions[action])
        return reward, ale.game_over(with_truncation=False), ale.game_truncated()

    def observe(self) -> npt.NDArray[np.uint8]:
        """Return the screen; it holds until the second look after this one."""
        self._pictures.reverse()
        if self._is_at_start:
            self._pictures[0][...] = self._first
        else:
            self._draw(self._pictures[0])
        return self._pictures[0]

    def render(self) -> Any:
        """Return the picture in colour, if the env was made to draw."""
        return self._first_rgb.copy() if self._is_at_start and self.render_mode == "rgb_array" else self.env.render()

    @property
    def last_info(self) -> dict[str, Any]:
        """What ale-py tells of the present frame."""
        ale = self._ale
        return {"lives": ale.lives(), "episode_frame_number": ale.getEpisodeFrameNumber()}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a game, the same for every seed."""
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.restart()
        return self.observe().copy(), self.last_info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one frame, as any gymnasium.Env."""
        reward, terminated, truncated = self.advance(int(action))
        return self.observe().copy(), reward, terminated, truncated, self.last_info


def frame_arguments(registered: RegisteredEnv, given: Mapping[str, Any], spec: EnvSpec) -> dict[str, Any] | None:
    """Return arguments for an Atari env that is to be played frame by frame; None where it cannot or is no Atari env.

    ``given`` are the arguments it would be made with. Grey is ALE's own luminance of each colour.
    """
    wanted = {**registered.kwargs, **given}
    own = wanted.get("frameskip", 4), wanted.get("repeat_action_probability", 0.25)
    is_ours = (
        str(registered.entry_point).startswith("ale_py")
        and isinstance(own[0], int)
        and own[0] >= 1
        and wanted.get("obs_type", "rgb") in _PICTURES
        and not any(wanted.get(name) for name in ("continuous", "sound_obs"))
        and wanted.get("render_mode") != "human"
    )
    if not is_ours:
        return None
    grey = {"obs_type": "grayscale"} if spec.grayscale else {}
    return {**given, **grey, "frameskip": 1, "repeat_action_probability": 0.0}


def check_atari_fields(spec: EnvSpec, is_atari: bool) -> None:
    """Raise EnvError for settings that only an Atari game played frame by frame can follow."""
    given = [name for name in ("noop_max", "fire_on_reset", "terminal_on_life_loss") if getattr(spec, name)]
    if given and not is_atari:
        raise EnvError(f"{given[0]} is for Atari games (ALE/…) seen as pictures, not for {spec.label}")
