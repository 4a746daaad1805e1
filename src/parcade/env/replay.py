"""Play a recorded episode again, step by step, forwards and backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from parcade.env.console_env import ConsoleEnv, EnvSnapshot
from parcade.env.guide import PREFIX
from parcade.env.info_metrics import RAW_RETURN
from parcade.env.make import make
from parcade.env.pace import step_seconds
from parcade.env.recorded import Array, Recorded, actions_for, metrics_now, recorded_spec
from parcade.env.sharing import one_console_per_process
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import Watch
from parcade.env.start import begin_after
from parcade.env.watched import action_words
from parcade.errors import EnvError
from parcade.game.base import Place
from parcade.game.state_values import state_values

Picture = npt.NDArray[np.uint8]
SNAPSHOT_EVERY, MOST_SNAPSHOTS = 512, 64


class _Moment(NamedTuple):
    """A step of the episode to which the replay can go back."""

    env: EnvSnapshot
    rows: dict[str, Array]
    reward: float
    total_reward: float


class EpisodeReplay:
    """Stands after ``position`` of the ``length`` steps of one episode, in an env of its own.

    ``step`` takes the next recorded action, ``seek`` goes to any step. Games are brought back from snapshots, which the
    replay takes on its way; other envs begin anew. An env that is not the recorded one any more may end early:
    ``is_over`` says that there is no further step. Close it, or use it with ``with``.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        episode: Recorded,
        where: str = "the episode",
        *,
        info_keys: tuple[str, ...] = (),
        frame_skip: int | None = None,
        draws: bool = True,
        keeps_moments: bool = False,
    ) -> None:
        self.env, self.episode, self._draws = env, episode, draws
        self._slot_env = as_slot_env(env, info_keys)
        self._game_env = env if isinstance(env, ConsoleEnv) else None
        self._keeps_moments = keeps_moments and self._game_env is not None
        self._prefix = list(actions_for(self._slot_env, episode.prefix, where))
        self._actions = list(actions_for(self._slot_env, episode.actions, where))
        self.step_s = step_seconds(env, frame_skip)  # how long a step takes at the game's own speed
        self.rows = fresh_rows(self._slot_env.observation_space)  # what the policy sees now, by leaf name
        self._moments: dict[int, _Moment] = {}
        self._every = SNAPSHOT_EVERY
        self._draw_next(True)
        self.begin()

    @property
    def length(self) -> int:
        """How many steps the episode has."""
        return len(self._actions)

    @property
    def is_over(self) -> bool:
        """Whether there is no further step."""
        return self.position >= self.length or self.terminated or self.truncated

    def begin(self) -> None:
        """Begin the episode, from whatever moment."""
        begin_after(self._slot_env, self.episode.seed, self._prefix, self.rows)
        self.position, self.reward, self.total_reward = 0, 0.0, 0.0
        self.terminated = self.truncated = False
        self._picture: Picture | None = None
        if self._is_due(0):
            self._keep()  # a console that begins anew may count its beginnings

    def step(self) -> bool:
        """Take the next recorded action; False, and nothing happens, where there is none."""
        if self.is_over:
            return False
        action = self._actions[self.position]
        self.reward, self.terminated, self.truncated = self._slot_env.advance(action, self.rows)
        self.total_reward += self.reward
        self.position += 1
        self._picture = None
        if self._is_due(self.position) and not self.is_over:
            self._keep()
        return True

    def seek(self, step: int) -> None:
        """Go to the moment after ``step`` steps, or as far as the episode goes."""
        step = max(0, min(step, self.length))
        if step < self.position or self._nearest(step) > self.position:
            self._go_back(self._nearest(step))
        while self.position < step and not self.is_over:
            self._draw_next(self.position == step - 1 or self._is_due(self.position + 1))
            self.step()
        self._draw_next(True)

    def _draw_next(self, wanted: bool) -> None:
        if self._game_env is not None:
            self._game_env.draw_steps(wanted and self._draws)

    def _nearest(self, step: int) -> int:
        return max((kept for kept in self._moments if kept <= step), default=0)

    def _go_back(self, step: int) -> None:
        if step not in self._moments or self._game_env is None:
            self.begin()
            return
        moment = self._moments[step]
        self._game_env.restore(moment.env)
        for leaf, row in moment.rows.items():
            self.rows[leaf][...] = row
        self.position, self.reward, self.total_reward = step, moment.reward, moment.total_reward
        self.terminated = self.truncated = False
        self._picture = moment.env.picture

    def _is_due(self, step: int) -> bool:
        return self._keeps_moments and step % self._every == 0 and step not in self._moments

    def _keep(self) -> None:
        assert self._game_env is not None
        if len(self._moments) >= MOST_SNAPSHOTS:
            self._every *= 2
            self._moments = {step: moment for step, moment in self._moments.items() if step % self._every == 0}
        rows = {leaf: row.copy() for leaf, row in self.rows.items()}
        self._moments[self.position] = _Moment(self._game_env.snapshot(), rows, self.reward, self.total_reward)

    def picture(self) -> Picture:
        """Return the env's own picture of this moment: (height, width, 3), red, green and blue."""
        if self._picture is None:
            drawn = np.asarray(self.env.render())
            if drawn.ndim != 3 or drawn.shape[2] != 3 or drawn.dtype != np.uint8:
                raise EnvError(f"{self.episode.origin.env.get('env_id')} draws no picture")
            self._picture = drawn
        return self._picture

    def action(self) -> str:
        """Return the last action in words."""
        return action_words(self.env, self._actions[self.position - 1]) if self.position else ""

    def parts(self) -> dict[str, float]:
        """Return the parts of the last step's reward by name, weighted."""
        if self._game_env is None:
            return {"reward": self.reward} if self.position else {}
        return self._game_env.weighted_parts()

    def fields(self) -> dict[str, Any]:
        """Return the named values of the game's state; empty for other envs."""
        if (env := self._game_env) is None:
            return {}
        return env.guard.ask("fields", lambda: state_values(env.state)) or {}

    def place(self) -> Place | None:
        """Return where on which map the player stands, for titles that know."""
        return None if self._game_env is None else self._game_env.place()

    def words(self) -> str | None:
        """Return this moment in plain words, for titles that have some."""
        return None if self._game_env is None else self._game_env.words()

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the episode so far."""
        return metrics_now(self._slot_env)

    def save_state(self) -> bytes:
        """Return this moment as a save state, for ``--state``; only games have one."""
        if self._game_env is None:
            raise EnvError("only a game's moment can be saved as a start state, not that of a Gymnasium env")
        return self._game_env.console.save()

    def close(self) -> None:
        """Close the env; twice is fine."""
        self.env.close()

    def __enter__(self) -> EpisodeReplay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_replay(
    episode: Recorded,
    where: str,
    named: Mapping[str, Any] | None = None,
    *,
    render: bool = True,
    watch: Watch | None = None,
) -> EpisodeReplay:
    """Return an episode of the file ``where`` in an env of its own, at its first moment.

    ``named`` are fields of the env that the user named (``rom``, ``imports`` and the like, as for ``parcade eval``).
    Without ``render`` pictures are not drawn, which is quicker. With ``watch`` a window shows it.
    """
    spec = recorded_spec(episode, where, named)
    env = make(spec.with_(render=render and spec.game is None, watch=watch))  # a game draws step by step, when asked to
    keeps = render and not one_console_per_process(spec)  # libretro's states are not the whole machine
    try:
        keys, skip = spec.info_keys, spec.frame_skip
        return EpisodeReplay(env, episode, where, info_keys=keys, frame_skip=skip, draws=render, keeps_moments=keeps)
    except BaseException:
        env.close()
        raise


def differences(replay: EpisodeReplay, *, with_guide: bool = True) -> list[str]:
    """Play an episode to its end and return in words what is not as recorded; empty: everything is, to the last bit.

    Without ``with_guide`` only the title's own rewards and metrics count: it may have been played with another guide.
    """
    episode = replay.episode
    replay.seek(replay.length)
    if replay.position < episode.length:
        return [f"it ended after {replay.position:,} of {episode.length:,} steps"]
    ends = {"terminated": replay.terminated, "truncated": replay.truncated, "return": replay.total_reward}
    kept = {"terminated": episode.terminated, "truncated": episode.truncated, "return": episode.total_reward}
    now, recorded = {**ends, **replay.metrics()}, {**kept, **episode.metrics}
    if not with_guide:
        now, recorded = _unguided(now), _unguided(recorded)
    found = [
        f"{name} is {value}, recorded was {recorded.get(name)}"
        for name, value in now.items()
        if value != recorded.get(name)
    ]
    return found + [f"{name} is missing" for name in recorded if name not in now]


def _unguided(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a guide has no part in; the return is that of the title's own rewards, as precise as metrics are."""
    own = {name: value for name, value in told.items() if not name.startswith(PREFIX) and name != RAW_RETURN}
    return {**own, "return": float(np.float32(told.get(RAW_RETURN, told["return"])))}
