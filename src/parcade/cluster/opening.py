"""How trainings and evaluations reach a cluster; Ray itself is imported only then."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.learn.policy import Policy
from parcade.train.episode_parts import Moments, PartOrders, PlayParts, Stopped
from parcade.train.spread.messages import Holding

if TYPE_CHECKING:
    from parcade.cluster.crew import RayCrew


@dataclass(frozen=True, slots=True)
class RayMachines:
    """The nodes of a cluster; of several jobs side by side each has its part of them."""

    job: int = 0
    n_jobs: int = 1

    def open_crew(self, spec: EnvSpec, settings: TrainSettings, holdings: list[Holding]) -> RayCrew:
        """Return learners on the nodes of the settings' cluster; closing them also leaves the cluster."""
        from parcade.cluster.connection import connected

        assert settings.cluster is not None
        with ExitStack() as stack:
            ray = stack.enter_context(connected(settings.cluster))
            from parcade.cluster.crew import RayCrew
            from parcade.cluster.nodes import Nodes

            crew = RayCrew(ray, Nodes(ray, self.job, self.n_jobs), spec, settings, holdings)
            crew.leaving = stack.pop_all()
            return crew

    def play_parts(self, address: str, *, is_guest: bool) -> PlayParts:
        """Return what plays an evaluation's episodes on all nodes; a guest does so beside a training's learners."""

        def play(policy: Policy | None, orders: PartOrders, stopped: Stopped | None) -> Moments:
            from parcade.cluster.connection import connected

            with connected(address) as ray:
                from parcade.cluster.evaluation_crew import EvaluationCrew
                from parcade.cluster.nodes import Nodes

                crew = EvaluationCrew(ray, Nodes(ray, self.job, self.n_jobs), policy, orders, is_guest)
                yield from crew.moments(stopped)

        return play

    @classmethod
    def of_jobs(cls, settings: TrainSettings, n_learners: int, n_jobs: int) -> list[RayMachines]:
        """Return each job's part of a cluster; refuse one that does not answer, or on which they do not fit."""
        from parcade.cluster.connection import connected

        assert settings.cluster is not None
        with connected(settings.cluster) as ray:
            from parcade.cluster.nodes import Nodes
            from parcade.cluster.placement import check_cores, workers_each

            each = workers_each(settings.n_workers, n_learners) or 1
            for job in range(n_jobs):
                check_cores(Nodes(ray, job, n_jobs).cores(), n_learners, each)
        return [cls(job, n_jobs) for job in range(n_jobs)]
