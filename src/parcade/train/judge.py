"""Evaluations of a training: now and then, and at its end. One that fails is told; nothing else is lost by it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import torch

from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, PoolError
from parcade.learn.policy import Policy
from parcade.train import events
from parcade.train.assembly import process_options
from parcade.train.episode_parts import PlayParts, play_here
from parcade.train.evaluation import Evaluation, film_evaluation, play_episodes
from parcade.train.progress_text import evaluation_failed

log = logging.getLogger("parcade.train")
_SEED_BETWEEN, _SEED_AT_END = 1, 0


class Judge:
    """Plays the policy on unseen seeds, as long as ``is_stopped`` says no and ``eval_minutes`` have not passed."""

    def __init__(
        self,
        settings: TrainSettings,
        policy: Policy,
        spec: EnvSpec,
        tell: events.Listener,
        is_stopped: Callable[[], bool],
        play_parts: PlayParts = play_here,
    ) -> None:
        self._settings, self._policy, self.spec = settings, policy, spec
        self._tell, self._is_stopped, self._play_parts = tell, is_stopped, play_parts
        self.why_none_at_end = ""

    def between(self, env_steps: int) -> Evaluation | None:
        """Evaluate in the middle of a training; None if no episode ended."""
        result = self._played(env_steps, self._settings.n_eval_episodes, _SEED_BETWEEN)
        if result is None or not result.episodes:
            return None
        self._tell(events.Evaluated(env_steps, result))
        log.info("env_steps=%d %s", env_steps, result.fact_line())
        return result

    def at_end(self, env_steps: int, video: Path) -> Evaluation | None:
        """Evaluate the trained policy and film it; what ended until Ctrl-C counts."""
        result = self._played(env_steps, self._settings.final_eval_episodes, _SEED_AT_END, is_final=True)
        if result is None:
            return None
        if result.episodes:
            log.info("env_steps=%d final %s", env_steps, result.fact_line())
        return self._filmed(result, video) if self._settings.video and not self._is_stopped() else result

    def _played(self, env_steps: int, episodes: int, seed: int, *, is_final: bool = False) -> Evaluation | None:
        try:
            result = self._play(episodes, seed)
        except (PoolError, EnvError) as error:
            self._fail(events.EvaluationFailed(env_steps, str(error), is_final))
            return None
        if not result.episodes and not self._is_stopped():
            reason = f"no episode ended within eval_minutes {self._settings.eval_minutes:g}"
            self._fail(events.EvaluationFailed(env_steps, reason, is_final))
        return result

    def _fail(self, failed: events.EvaluationFailed) -> None:
        """Say it once, in a warning; those who listen need not repeat it."""
        log.warning("%s", evaluation_failed(failed))
        self._tell(failed)
        if failed.is_final:
            self.why_none_at_end = failed.reason

    def _play(self, episodes: int, seed: int) -> Evaluation:
        torch.set_num_threads(1)
        self._tell(events.EvaluationStarted(episodes))
        settings, until_s = self._settings, time.monotonic() + 60 * self._settings.eval_minutes
        return play_episodes(
            self._policy,
            self.spec,
            episodes=episodes,
            seed=seed,
            deterministic=settings.eval_deterministic,
            n_workers=settings.n_workers,
            on_episode=lambda index, episode: self._tell(events.EpisodeEvaluated(index + 1, episodes, episode)),
            stopped=lambda: self._is_stopped() or time.monotonic() >= until_s,
            play_parts=self._play_parts,
            **process_options(settings),
        )

    def _filmed(self, result: Evaluation, path: Path) -> Evaluation:
        settings, steps = self._settings, count(1)

        def look() -> bool:
            self._tell(events.Filming(next(steps)))
            return self._is_stopped()

        self._tell(events.Filming(0))
        try:
            film = film_evaluation(
                self._policy,
                self.spec.with_(watch=None),
                path,
                seed=_SEED_AT_END,
                deterministic=settings.eval_deterministic,
                n_workers=settings.n_workers,
                stopped=look,
            )
        except (MissingExtraError, EnvError, PoolError) as error:
            log.warning("no video: %s", error)
            return result
        return replace(result, video=film.path, pictures=film.pictures)
