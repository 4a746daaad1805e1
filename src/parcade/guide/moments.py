"""Moments of a game for a model to look at: played by chance, or taken from recorded episodes."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from parcade.env.console_env import ConsoleEnv
from parcade.env.make import make
from parcade.env.replay import EpisodeReplay, open_replay
from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError
from parcade.game.condition import compile_condition
from parcade.run.episodes import EpisodeRecord

EPISODES, MOMENTS, STEPS = 3, 12, 600  # played by chance
MOST_RECORDS = 8  # of recorded episodes that are played again
LONGEST_WORDS = 300
_FIRST_SEED = 7_000


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment: when it was, in the title's words, and its picture (PNG) where one was wanted."""

    when: str
    words: str
    picture: bytes | None = None

    @property
    def as_url(self) -> str:
        """The picture as chat completions take one."""
        return f"data:image/png;base64,{base64.b64encode(self.picture or b'').decode()}"


@dataclass(frozen=True, slots=True)
class Sampled:
    """Moments of some episodes, and how each of them began: what holds there needs no reward."""

    moments: tuple[Moment, ...]
    beginnings: tuple[tuple[Any, Any], ...]  # the episode's record and state
    paid: Mapping[str, float]  # by the parts of the reward, over all these episodes
    ends: tuple[str, ...]  # the last moments in words

    def holds_at_begin(self, when: str, fields: Mapping[str, Any]) -> bool:
        """Whether a condition without faults holds in the first moment of every episode."""
        holds = compile_condition(when, fields)
        return bool(self.beginnings) and all(holds(record, state, state) for record, state in self.beginnings)


def played_moments(spec: EnvSpec, *, pictures: bool = False, seed: int = 0) -> Sampled:
    """Play some episodes with random actions; the same seed gives the same moments."""
    env = make(spec.with_(render=pictures))
    assert isinstance(env, ConsoleEnv)
    found = _Sampling(pictures)
    rng = np.random.default_rng([seed])
    every = EPISODES * STEPS // MOMENTS
    try:
        for episode in range(EPISODES):
            env.reset(seed=_FIRST_SEED + seed * EPISODES + episode)
            found.begin(env)
            held = 0
            for step in range(1, STEPS + 1):
                held = held if rng.random() < 0.8 else int(rng.integers(len(env.game.actions)))
                _, _, terminated, truncated, _ = env.step(held)
                found.step(env)
                if terminated or truncated:
                    break
                if step % every == 0:
                    found.keep(env, f"episode {episode + 1}, step {step}, random actions")
            found.end(env)
        return found.sampled()
    finally:
        env.close()


def recorded_moments(
    records: Sequence[EpisodeRecord], where: str, named: Mapping[str, Any], *, pictures: bool = False
) -> Sampled:
    """Play recorded episodes again, the newest first; ``named`` are as for ``open_replay``."""
    found = _Sampling(pictures)
    for record in list(reversed(records))[:MOST_RECORDS]:
        if record.origin.env.get("game") is None:
            raise EpisodeFileError(f"{where} was played in {record.origin.env.get('env_id')}; guides are for games")
        with open_replay(record, where, named, render=pictures) as played:
            for env, is_third in _followed(played):
                if played.position == 0:
                    found.begin(env)
                else:
                    found.step(env)
                if is_third:
                    found.keep(env, f"recorded episode {record.number or 0}, step {played.position}")
            found.end(env)
    return found.sampled()


def _followed(played: EpisodeReplay) -> Iterator[tuple[ConsoleEnv, bool]]:
    """Yield each moment of an episode, and whether it is at a third of it or at its end."""
    assert isinstance(played.env, ConsoleEnv)
    marks = {played.length // 3, 2 * played.length // 3, played.length} - {0}
    yield played.env, False
    while played.step():
        yield played.env, played.position in marks


class _Sampling:
    def __init__(self, pictures: bool) -> None:
        self._pictures = pictures
        self._moments: list[Moment] = []
        self._beginnings: list[tuple[Any, Any]] = []
        self._paid: dict[str, float] = {}
        self._ends: list[str] = []

    def begin(self, env: ConsoleEnv) -> None:
        self._beginnings.append((env.game.begin(env.state), env.state))
        if len(self._beginnings) == 1:
            self.keep(env, "the first moment of an episode")

    def step(self, env: ConsoleEnv) -> None:
        for name, value in env.weighted_parts().items():
            self._paid[name] = self._paid.get(name, 0.0) + value

    def keep(self, env: ConsoleEnv, when: str) -> None:
        self._moments.append(Moment(when, _words(env), _png(env) if self._pictures else None))

    def end(self, env: ConsoleEnv) -> None:
        self._ends.append(_words(env))

    def sampled(self) -> Sampled:
        return Sampled(tuple(self._moments), tuple(self._beginnings), dict(self._paid), tuple(self._ends))


def _words(env: ConsoleEnv) -> str:
    return (env.words() or "")[:LONGEST_WORDS]


def _png(env: ConsoleEnv) -> bytes:
    picture = np.ascontiguousarray(env.render()[..., ::-1])
    return bytes(cv2.imencode(".png", picture)[1].tobytes())
