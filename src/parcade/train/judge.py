"""Evaluations of a training: now and then, and at its end. One that fails is told; nothing else is lost by it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, PoolError
from parcade.learn.policy import Policy
from parcade.train import events
from parcade.train.assembly import process_options
from parcade.train.evaluation import Evaluation, film_evaluation, play_episodes

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
    ) -> None:
        self._settings, self._policy, self._spec = settings, policy, spec
        self._tell, self._is_stopped = tell, is_stopped

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
        result = self._played(env_steps, self._settings.final_eval_episodes, _SEED_AT_END)
        if result is None:
            return None
        if result.episodes:
            log.info("env_steps=%d final %s", env_steps, result.fact_line())
        return self._filmed(result, video) if self._settings.video and not self._is_stopped() else result

    def _played(self, env_steps: int, episodes: int, seed: int) -> Evaluation | None:
        try:
            result = self._play(episodes, seed)
        except (PoolError, EnvError) as error:
            self._fail(env_steps, str(error))
            return None
        if not result.episodes and not self._is_stopped():
            self._fail(env_steps, f"no episode ended within eval_minutes {self._settings.eval_minutes:g}")
        return result

    def _fail(self, env_steps: int, reason: str) -> None:
        log.warning("the evaluation after step %d failed: %s", env_steps, reason)
        self._tell(events.EvaluationFailed(env_steps, reason))

    def _play(self, episodes: int, seed: int) -> Evaluation:
        torch.set_num_threads(1)
        self._tell(events.EvaluationStarted(episodes))
        settings, until_s = self._settings, time.monotonic() + 60 * self._settings.eval_minutes
        return play_episodes(
            self._policy,
            self._spec,
            episodes=episodes,
            seed=seed,
            deterministic=settings.eval_deterministic,
            n_workers=settings.n_workers,
            on_episode=lambda index, episode: self._tell(events.EpisodeEvaluated(index + 1, episodes, episode)),
            stopped=lambda: self._is_stopped() or time.monotonic() >= until_s,
            **process_options(settings),
        )

    def _filmed(self, result: Evaluation, path: Path) -> Evaluation:
        settings = self._settings
        try:
            film = film_evaluation(
                self._policy,
                self._spec.with_(watch=None),
                path,
                seed=_SEED_AT_END,
                deterministic=settings.eval_deterministic,
                n_workers=settings.n_workers,
                stopped=self._is_stopped,
            )
        except (MissingExtraError, EnvError, PoolError) as error:
            log.warning("no video: %s", error)
            return result
        return replace(result, video=film.path, pictures=film.pictures)
