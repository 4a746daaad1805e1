"""The limit: bare processes that do nothing but step consoles. No pipe per step, no observation, no reward."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from parcade.env.console_env import ConsoleEnv
from parcade.env.make import make
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import EnvSpec
from parcade.errors import RunError
from parcade.host.cores import usable_cores

HEADSTART_S = 0.02  # orders reach every process before the moment at which all begin
STEPS_PER_LOOK = 16  # how often a bare process looks at the clock
ANSWER_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """A real episode under random actions: replaying it costs an emulator the same work."""

    seed: int
    actions: tuple[int, ...]


def record_episodes(spec: EnvSpec, n_episodes: int, seed: int = 0, max_steps: int = 20_000) -> list[RecordedEpisode]:
    """Play episodes with random actions in the env itself, so that the limit starts and ends them where it would."""
    env = as_slot_env(make(spec))
    rows = fresh_rows(env.observation_space)
    rng, episodes, total = np.random.default_rng([seed]), [], 0
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    try:
        for episode in range(n_episodes):
            env.begin(episode, rows)
            actions, ended = [], False
            while not ended and total < max_steps:
                actions.append(int(rng.integers(n_actions)))
                _, terminated, truncated = env.advance(actions[-1], rows)
                ended, total = terminated or truncated, total + 1
            episodes.append(RecordedEpisode(episode, tuple(actions)))
            if total >= max_steps:
                break
    finally:
        env.close()
    return episodes


class BareProcesses:
    """One process per core with ``n_consoles`` each, stepped in turn; ``turn`` returns their steps per second together.

    One console for each process is the strictest limit: a second one already pushes the first out of the cache.
    """

    def __init__(
        self, spec: EnvSpec, episodes: list[RecordedEpisode], n_processes: int | None = None, n_consoles: int = 1
    ) -> None:
        # What the processes would reach together if none could run ahead of the slowest: a bound for any pool whose
        # steps wait for all its games.
        self.in_step: dict[bool, list[float]] = {True: [], False: []}
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        context = multiprocessing.get_context("spawn")
        try:
            for number in range(n_processes or usable_cores()):
                ours, theirs = context.Pipe()
                turned = episodes[number % len(episodes) :] + episodes[: number % len(episodes)]
                process = context.Process(target=_serve, args=(spec, turned, n_consoles, theirs), daemon=True)
                process.start()
                theirs.close()
                self._pipes.append(ours)
                self._processes.append(process)
            for pipe in self._pipes:
                self._hear(pipe)
        except BaseException:
            self.close()
            raise

    def variant(self, draw: bool) -> BareVariant:
        """Return a contender that draws the last frame of each step, or nothing at all."""
        return BareVariant(self, draw)

    def turn(self, seconds: float, draw: bool) -> float:
        """Let all processes step at the same time; return the sum of their rates."""
        begin_at = time.monotonic() + HEADSTART_S
        for pipe in self._pipes:
            pipe.send((begin_at, seconds, draw))
        rates = [self._hear(pipe) for pipe in self._pipes]
        self.in_step[draw].append(len(rates) * min(rates))
        return sum(rates)

    def _hear(self, pipe: Connection) -> float:
        try:
            if pipe.poll(ANSWER_DEADLINE_S):
                return float(pipe.recv())
            raise RunError(f"a bare process did not answer within {ANSWER_DEADLINE_S:g} s")
        except (EOFError, OSError):
            raise RunError("a bare process ended before it was measured") from None

    def close(self) -> None:
        """End all processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(5.0)
            if process.is_alive():
                process.kill()
                process.join(5.0)
        self._pipes, self._processes = [], []


class BareVariant:
    """The bare processes with or without drawing, as a contender."""

    def __init__(self, processes: BareProcesses, draw: bool) -> None:
        self._processes, self._draw = processes, draw

    def turn(self, seconds: float) -> float:
        """Step for ``seconds``."""
        return self._processes.turn(seconds, self._draw)

    def close(self) -> None:
        """Close the processes of all variants."""
        self._processes.close()


def _serve(spec: EnvSpec, episodes: list[RecordedEpisode], n_consoles: int, pipe: Connection) -> None:
    envs: dict[bool, list[ConsoleEnv]] = {
        draw: [_console_env(_seen(spec, draw)) for _ in range(n_consoles)] for draw in (True, False)
    }
    plays = {draw: [_play(env, episodes) for env in some] for draw, some in envs.items()}
    for play in (*plays[True], *plays[False]):
        next(play)  # the game is booted before the first turn
    pipe.send(0.0)
    try:
        while True:
            begin_at, seconds, draw = pipe.recv()
            time.sleep(max(0.0, begin_at - time.monotonic()))
            pipe.send(_rate(plays[draw], seconds))
    except (EOFError, OSError):
        for env in (*envs[True], *envs[False]):
            env.close()


def _seen(spec: EnvSpec, draw: bool) -> EnvSpec:
    if draw:
        return spec.with_(observation="pixels")
    return spec.with_(observation="features", grayscale=None, picture_size=None)


def _console_env(spec: EnvSpec) -> ConsoleEnv:
    env = make(spec)
    assert isinstance(env, ConsoleEnv)
    return env


def _rate(plays: list[Iterator[None]], seconds: float) -> float:
    plays = plays * max(1, STEPS_PER_LOOK // len(plays))
    count, started = 0, time.perf_counter()
    while True:
        for play in plays:
            next(play)
        count += len(plays)
        elapsed = time.perf_counter() - started
        if elapsed >= seconds:
            return count / elapsed


def _play(env: ConsoleEnv, episodes: list[RecordedEpisode]) -> Iterator[None]:
    """Replay the episodes for ever, a step for each ``next``: the buttons are pressed and nobody looks."""
    emulate, rows = env.emulate, fresh_rows(env.observation_space)
    while True:
        for episode in episodes:
            env.begin(episode.seed, rows)
            for action in episode.actions:
                emulate(action)
                yield
