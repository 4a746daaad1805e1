"""The games and the algorithm of a training: in this process, or with learners that hold the shards."""

from __future__ import annotations

from typing import Protocol

from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import SettingsError
from parcade.learn.algorithm import Algorithm
from parcade.learn.policy import Policy
from parcade.pool.pool import Pool
from parcade.train.assembly import algorithm_of, device_of, pool_of
from parcade.train.demonstrations import Progress
from parcade.train.episode_parts import PlayParts, play_here
from parcade.train.spread.algorithm import SpreadPpo
from parcade.train.spread.holder import workers_of
from parcade.train.spread.messages import Holding, LearnerOrders, holding
from parcade.train.spread.pool import SpreadPool
from parcade.train.spread.processes import LearnerProcesses
from parcade.train.spread.team import Crew, LearnerTeam


class Machines(Protocol):
    """Other machines, as a training uses them."""

    def open_crew(self, spec: EnvSpec, settings: TrainSettings, holdings: list[Holding]) -> Crew:
        """Return learners that run there."""
        ...

    def play_parts(self, address: str, *, is_guest: bool) -> PlayParts:
        """Return what plays an evaluation's episodes there; a guest does so beside a training's learners."""
        ...


def open_games(spec: EnvSpec, settings: TrainSettings, machines: Machines | None = None) -> Pool:
    """Return the games, in workers of this process or of learners; ``machines`` are those of a cluster."""
    n_learners = learners_of(settings)
    if n_learners == 1 and settings.cluster is None:
        return pool_of(spec, settings)
    holdings = [holding(settings, learner, n_learners) for learner in range(n_learners)]
    if settings.cluster is None:
        crew = _processes(spec, settings, holdings)
    elif machines is None:
        raise SettingsError(
            f"cluster {settings.cluster} can be used by train, resume, eval and sweep only; leave it out"
        )
    else:
        crew = machines.open_crew(spec, settings, holdings)
    return SpreadPool(spec, settings.envs, settings.seed, LearnerTeam(crew, holdings, settings.worker_restarts))


def playing_parts(settings: TrainSettings, machines: Machines | None) -> PlayParts:
    """Return where a training's evaluations are played: here, or on the nodes of its cluster."""
    if settings.cluster is None or machines is None:
        return play_here
    return machines.play_parts(settings.cluster, is_guest=True)


def learners_of(settings: TrainSettings) -> int:
    """Return how many hold the shards; on a cluster each shard has a learner, where nothing else is asked for."""
    return settings.shards if settings.cluster is not None and settings.learners == 1 else settings.learners


def _processes(spec: EnvSpec, settings: TrainSettings, holdings: list[Holding]) -> Crew:
    n_workers = workers_of(settings, len(holdings))
    orders = [LearnerOrders(settings, spec, one, n_workers) for one in holdings]
    return LearnerProcesses(orders, settings.step_deadline_s)


def open_algorithm(
    settings: TrainSettings, policy: Policy, spec: EnvSpec, pool: Pool, on_progress: Progress | None = None
) -> Algorithm:
    """Return what trains the policy; ``on_progress`` hears how far demonstrations have been played again."""
    if isinstance(pool, SpreadPool):
        return SpreadPpo(policy, pool, settings.shards)
    return algorithm_of(settings, policy, spec, on_progress)


def check_learners(settings: TrainSettings, watch: Watch | None) -> None:
    """Refuse what only one process that sees all games can do."""
    if settings.learners == 1 and settings.cluster is None:
        return
    asked = {
        "overlap": settings.overlap,
        "follow_machine": settings.follow_machine,
        "novelty": settings.novelty > 0,
        "archive_share": settings.archive_share > 0,
        "demonstrations": settings.demonstrations is not None,
        "coach": bool(settings.coach),
        "pin_workers": settings.pin_workers is True,
        "a window (visual)": watch is not None,
        f"device {settings.device}": device_of(settings).type != "cpu",
    }
    found = [name for name, is_asked in asked.items() if is_asked]
    if found:
        what = f"learners {settings.learners}" if settings.cluster is None else f"cluster {settings.cluster}"
        raise SettingsError(f"{what} cannot be used with {', '.join(found)}; use one learner")
