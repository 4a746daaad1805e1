"""Play a policy without learning, on seeds never trained on, with the numbers of one env played alone."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parcade.env.judged import evaluated_as
from parcade.env.milestones import ToldMilestone, told_milestones
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import EnvError, MissingExtraError, PoolError, SettingsError
from parcade.host.own_modules import refuse_while_importing
from parcade.learn.policy import Policy
from parcade.pool.seeding import NumberedEpisodes
from parcade.train.episode_parts import (
    EpisodeResult,
    PartOrders,
    Played,
    PlayParts,
    Stopped,
    first_seed,
    play_here,
    playing,
    pool_for,
)
from parcade.train.film import FILMED_EPISODES, Film, Picture, film_episodes
from parcade.train.policy_file import load_policy
from parcade.train.python_env import PythonEnv, named_env

log = logging.getLogger("parcade.train")
_HOPELESS = 3  # episodes that all crash, after which no more are tried
_NO_DEADLINE_S = 1e6  # for a game that somebody may pause


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All episodes of one evaluation."""

    episodes: tuple[EpisodeResult, ...]
    seconds: float
    pictures: tuple[tuple[str, Picture], ...] = field(default=(), compare=False)
    video: str | None = None
    wanted: int = 0  # episodes there should have been; fewer were played where somebody or eval_minutes stopped it
    env: str = ""  # the title or Gymnasium id that was played
    cut_episodes: int = 0  # left out, because a step or their reset killed its worker again and again
    milestones: tuple[ToldMilestone, ...] = ()

    @property
    def return_mean(self) -> float:
        """Mean return."""
        return statistics.fmean(e.total_reward for e in self.episodes)

    @property
    def return_std(self) -> float:
        """Standard deviation of returns."""
        return statistics.pstdev(e.total_reward for e in self.episodes)

    @property
    def length_mean(self) -> float:
        """Mean length in steps."""
        return statistics.fmean(e.length for e in self.episodes)

    @property
    def length_std(self) -> float:
        """Standard deviation of lengths."""
        return statistics.pstdev(e.length for e in self.episodes)

    @property
    def success_rate(self) -> float | None:
        """Share of episodes that succeeded, of those that say so; None where the env knows no success."""
        told = [e.metrics["success"] for e in self.episodes if "success" in e.metrics]
        return statistics.fmean(told) if told else None

    @property
    def shares(self) -> dict[str, float]:
        """The share of episodes that reached each milestone, by the milestone's name."""
        return {
            milestone.name: statistics.fmean(episode.metrics[milestone.metric] for episode in self.episodes)
            for milestone in self.milestones
        }

    def summary(self) -> dict[str, float]:
        """Return what stands in a row of metrics."""
        numbers = {
            "mean_reward": self.return_mean,
            "std_reward": self.return_std,
            "mean_length": self.length_mean,
            "std_length": self.length_std,
        }
        if self.success_rate is not None:
            numbers["success_rate"] = self.success_rate
        told = zip(self.milestones, self.shares.values(), strict=True)
        return {**numbers, **{one.metric: share for one, share in told if one.metric != "success"}}

    def fact_line(self) -> str:
        """Return it as one line of a log."""
        return " ".join(f"eval_{name}={value:.3f}" for name, value in self.summary().items())

    def to_dict(self, with_episodes: bool = False) -> dict[str, Any]:
        """Return JSON-ready results."""
        result: dict[str, Any] = {
            "env": self.env,
            "episodes": len(self.episodes),
            "wanted_episodes": self.wanted,
            "return_mean": self.return_mean,
            "return_std": self.return_std,
            "length_mean": self.length_mean,
            "length_std": self.length_std,
            "success_rate": self.success_rate,
            "milestones": self.shares,
            "seconds": self.seconds,
            "video": self.video,
            "cut_episodes": self.cut_episodes,
        }
        if with_episodes:
            result["episode_list"] = [
                {"seed": e.seed, "return": e.total_reward, "length": e.length, "metrics": e.metrics}
                for e in self.episodes
            ]
        return result


def evaluate(
    model: str | Path | None = None,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
    random: bool = False,
    spec: EnvSpec | None = None,
    env: PythonEnv | None = None,
    racing: str = "official",
    video: str | Path | None = None,
    n_workers: int | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    watch: Watch | None = None,
    stopped: Stopped | None = None,
    play_parts: PlayParts = play_here,
    **changes: Any,
) -> Evaluation:
    """Play ``episodes`` episodes of a model file (or of a random policy) and return what came of them.

    A model of CarRacing is played on Gymnasium's own env, or with ``racing="fast"`` on ours; rewards are never clipped.
    ``stopped`` is asked now and then. ``changes`` replace fields of the model's env, such as ``rom``. A class or a
    module that the model names (``game="my_game:MyGame"``, ``imports``) is imported only if ``changes`` name it too.
    ``env`` is a title, a Gymnasium id or a function that makes the env; a model of ``train(env=function)`` needs it.
    The numbers are the same for any ``n_workers`` (None: one for each core, 0: all in this process), and wherever
    ``play_parts`` plays.
    """
    if episodes < 1:
        raise SettingsError(f"episodes is {episodes}, wanted 1 or more")
    refuse_while_importing("an evaluation")
    named, factory = named_env(env)
    changes["factory_name"] = named.pop("env_factory", None)
    changes |= {**named, "factory": factory}
    if model is None and spec is None and env is not None:
        spec = EnvSpec(**named, factory=factory)
    if model is not None:
        policy, foreign = load_policy(model)
        spec = foreign.accepted(changes)
    elif not random or spec is None:
        raise SettingsError("evaluate needs a model file, or random=True with a spec or an env")
    else:
        policy = None
        spec = spec.with_(**{key: value for key, value in changes.items() if value is not None})
    spec = evaluated_as(spec, racing)
    options: dict[str, Any] = {}
    if watch is not None and n_workers != 0:  # one game before somebody's eyes, who may pause it for long
        n_workers, options = 1, {"n_slots": 1, "step_deadline_s": _NO_DEADLINE_S}
    result = play_episodes(
        policy,
        spec.with_(watch=watch),
        episodes=episodes,
        seed=seed,
        deterministic=deterministic,
        n_workers=n_workers,
        on_episode=on_episode,
        stopped=stopped,
        play_parts=play_parts,
        **options,
    )
    if video is None:
        return result
    try:
        film = film_evaluation(
            policy, spec, Path(video), seed=seed, deterministic=deterministic, n_workers=n_workers, stopped=stopped
        )
    except (EnvError, MissingExtraError) as error:  # the numbers stay
        log.warning("no video: %s", error)
        return result
    return replace(result, video=film.path, pictures=film.pictures)


def play_episodes(
    policy: Policy | None,
    spec: EnvSpec,
    *,
    episodes: int,
    seed: int = 0,
    deterministic: bool = False,
    n_workers: int | None = None,
    n_slots: int | None = None,
    on_episode: Callable[[int, EpisodeResult], None] | None = None,
    stopped: Stopped | None = None,
    play_parts: PlayParts = play_here,
    **options: Any,
) -> Evaluation:
    """Play; the same arguments give the same episodes, whatever the number of workers, slots and machines.

    ``policy`` None plays at random. Once ``stopped`` says so, what has ended until then counts. ``options`` are the
    pool's.
    """
    started = time.perf_counter()
    orders = PartOrders(spec, range(episodes), seed, deterministic, n_workers, n_slots, options)
    found: dict[int, EpisodeResult] = {}
    crashed: frozenset[int] = frozenset()
    with closing(play_parts(policy, orders, stopped)) as moments:
        for played in moments:
            for number, episode in played.episodes.items():
                found[number] = episode
                if on_episode is not None:
                    on_episode(len(found) - 1, episode)
            crashed = played.crashed
            _check_crashes(played, episodes)
    if crashed:
        log.warning("%d of %d episodes crashed every time and are left out", len(crashed), episodes)
    results = tuple(found[number] for number in sorted(found))
    seconds = time.perf_counter() - started
    told = told_milestones(spec)
    return Evaluation(results, seconds, env=spec.label, wanted=episodes, cut_episodes=len(crashed), milestones=told)


def _check_crashes(played: Played, episodes: int) -> None:
    """Give up where the first episodes all crashed: the rest would too, and nothing could be said of them."""
    first = range(min(_HOPELESS, episodes))
    if played.crashed.issuperset(first):
        which = "the only episode" if len(first) == 1 else f"each of the first {len(first)} episodes"
        raise PoolError(f"{which} crashed every time: {played.told}")


def film_evaluation(
    policy: Policy | None,
    spec: EnvSpec,
    path: Path,
    *,
    seed: int,
    deterministic: bool,
    n_workers: int | None = None,
    stopped: Stopped | None = None,
) -> Film:
    """Film the first episodes of the evaluation with these arguments, until ``stopped`` says so."""
    numbered = NumberedEpisodes(first_seed(seed), 1, FILMED_EPISODES)
    workers = None if n_workers is None else min(1, n_workers)
    with pool_for(policy, spec.with_(render=True), numbered, 1, workers) as pool:
        actor, weights = playing(policy, pool, spec, deterministic)
        return film_episodes(pool, lambda: pool.play(actor, weights, seed, 1), path, FILMED_EPISODES, stopped)
