"""Play an evaluation's episodes on the nodes of a cluster, and replace nodes that are lost."""

from __future__ import annotations

import contextlib
import logging
import pickle
import time
from dataclasses import dataclass
from typing import Any

from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import parcade.errors
from parcade.cluster.crew import CLOSING_S, START_S, swept
from parcade.cluster.evaluator import RayEvaluator
from parcade.cluster.files import SentFiles
from parcade.cluster.learner import LOST, UNFIT
from parcade.cluster.nodes import Nodes
from parcade.cluster.placement import dealt
from parcade.cluster.versions import versions
from parcade.errors import ClusterError, ParcadeError, PoolError, RunError
from parcade.learn.policy import Policy
from parcade.train.episode_parts import Moments, PartOrders, Played, Stopped, play_here
from parcade.train.spread.messages import Failed

log = logging.getLogger("parcade.train")
GLANCE_S = 0.2
RESTARTS, DEADLINE_S = 5, 60.0  # where the orders say nothing


@dataclass(slots=True)
class Post:
    """An evaluator on a node, and its episodes."""

    actor: Any
    node: str
    numbers: range
    stream: Any
    until_s: float  # when it is taken for gone
    is_open: bool = False


class EvaluationCrew:
    """Plays episodes on all nodes. A training has reserved its cores; a crew beside it ``is_guest``.

    A guest does without nodes that cannot play, and plays here where there are none. Nobody else does: what is wrong
    with a cluster is told before anything has begun.
    """

    def __init__(
        self,
        ray: Any,
        nodes: Nodes,
        policy: Policy | None,
        orders: PartOrders,
        is_guest: bool,
    ) -> None:
        self._ray, self._nodes, self._policy, self._orders, self._is_guest = ray, nodes, policy, orders, is_guest
        self._files = SentFiles(ray, orders.spec)
        self._deadline_s = 2 * float(orders.options.get("step_deadline_s", DEADLINE_S))
        self._posts: list[Post] = []
        self._found: set[int] = set()
        self._crashed: frozenset[int] = frozenset()
        self._told = ""
        self._left = int(orders.options.get("restarts", RESTARTS))
        self._has_killed = False

    def moments(self, stopped: Stopped | None) -> Moments:
        """Play until all episodes are over or ``stopped`` says so."""
        try:
            yield from self._deal(self._orders.numbers, stopped)
            while self._posts and not (stopped is not None and stopped()):
                for post in self._ready():
                    yield from self._hear(post, stopped)
                yield from self._find_gone(stopped)
        finally:
            self.close()

    def _deal(self, numbers: range, stopped: Stopped | None) -> Moments:
        """Have these episodes played by the nodes there are now."""
        cores = self._nodes.cores()
        if not cores:
            yield from self._play_rest_here(numbers, stopped)
        for node, part in dealt(numbers, cores).items():
            workers = _workers(self._orders.n_workers, cores[node], len(cores))
            self._start(node, self._orders.part(part, workers))

    def _play_rest_here(self, numbers: range, stopped: Stopped | None) -> Moments:
        if not self._is_guest:
            raise ClusterError("no node of the cluster can play; add a node that has cores")
        log.warning("no node of the cluster is left: episodes %d-%d are played here", numbers[0] + 1, numbers[-1] + 1)
        for played in play_here(self._policy, self._orders.part(numbers, self._orders.n_workers), stopped):
            yield self._counted(played)

    def _start(self, node: str, orders: PartOrders) -> None:
        strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        reserved = 0 if self._is_guest else max(1, orders.n_workers or 0)
        made = self._ray.remote(RayEvaluator).options(num_cpus=reserved, max_restarts=0, scheduling_strategy=strategy)
        actor = made.remote(self._files.sent, self._files.refs, versions())
        stream = actor.play.options(num_returns="streaming").remote(
            pickle.dumps((self._policy, orders), pickle.HIGHEST_PROTOCOL)
        )
        self._posts.append(Post(actor, node, orders.numbers, stream, time.monotonic() + START_S))

    def _ready(self) -> list[Post]:
        """Return who has told something, after waiting a moment for it."""
        streams = {post.stream: post for post in self._posts}
        ready, _ = self._ray.wait(list(streams), num_returns=1, timeout=GLANCE_S, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(list(streams), num_returns=len(streams), timeout=0, fetch_local=False)
        return [streams[stream] for stream in ready]

    def _hear(self, post: Post, stopped: Stopped | None) -> Moments:
        try:
            told, found = pickle.loads(self._ray.get(next(post.stream), timeout=self._deadline_s))
        except StopIteration:
            yield from self._end(post, stopped)
            return
        except RayError as error:
            yield from self._lose(post, f"is gone ({type(error).__name__})", stopped)
            return
        for level, text in told:
            log.log(level, "%s", text)
        if isinstance(found, Failed):
            yield from self._fail(post, found, stopped)
            return
        post.is_open, post.until_s = True, time.monotonic() + self._deadline_s
        yield self._counted(found)

    def _counted(self, played: Played) -> Played:
        """Return what is new in it; episodes that a lost node had told of are played again by another."""
        new = {number: one for number, one in played.episodes.items() if number not in self._found}
        self._found |= set(new)
        self._crashed, self._told = self._crashed | played.crashed, played.told or self._told
        return Played(new, self._crashed, self._told)

    def _end(self, post: Post, stopped: Stopped | None) -> Moments:
        """Take leave of who has played all its episodes."""
        self._posts.remove(post)
        self._ray.wait([post.actor.close.remote()], timeout=CLOSING_S)
        self._kill(post)
        yield from self._play_missing(post, stopped)

    def _play_missing(self, post: Post, stopped: Stopped | None) -> Moments:
        missing = [number for number in post.numbers if number not in self._found | self._crashed]
        if missing:
            yield from self._deal(range(missing[0], post.numbers.stop), stopped)

    def _lose(self, post: Post, why: str, stopped: Stopped | None) -> Moments:
        """Have somebody else play what a lost node had left."""
        self._posts.remove(post)
        self._kill(post)
        self._has_killed = True
        self._nodes.suspected.add(post.node)
        words = f"node {self._nodes.host(post.node)} {why} while it played episodes {_said(post.numbers)}"
        if self._left == 0:
            raise PoolError(f"{words}; no restarts are left")
        self._left -= 1
        log.warning("%s; the others play what is left of them", words)
        yield from self._play_missing(post, stopped)

    def _fail(self, post: Post, failed: Failed, stopped: Stopped | None) -> Moments:
        """Tell what is wrong with a node; a guest does without it."""
        if failed.kind == LOST and not post.is_open:
            self._files.send_again()
            yield from self._lose(post, "has lost the game's files", stopped)
            return
        host = self._nodes.host(post.node)
        words = f"node {host} {failed.text}" if failed.kind == UNFIT else f"node {host}: {failed.text}"
        if post.is_open or not self._is_guest:
            raise _as_raised(failed.kind, words)
        log.warning("%s; it is not used", words)
        self._nodes.unfit.add(post.node)
        self._posts.remove(post)
        self._kill(post)
        yield from self._play_missing(post, stopped)

    def _find_gone(self, stopped: Stopped | None) -> Moments:
        """Give up nodes of which nothing was heard for too long."""
        now_s = time.monotonic()
        for post in [one for one in self._posts if now_s > one.until_s]:
            patience_s = self._deadline_s if post.is_open else START_S
            yield from self._lose(post, f"sent nothing for {patience_s:g} s", stopped)

    def _kill(self, post: Post) -> None:
        with contextlib.suppress(RayError):
            self._ray.kill(post.actor, no_restart=True)

    def close(self) -> None:
        """End all evaluators; twice is fine."""
        for post in self._posts:
            self._kill(post)
        if self._posts or self._has_killed:
            swept(self._ray, self._nodes)
        self._posts, self._has_killed = [], False


def _workers(n_workers: int | None, cores: int, n_nodes: int) -> int:
    """Return how many workers play on a node: one for each core, or its part of what the user asked for."""
    if n_workers is None or n_workers == 0:
        return cores if n_workers is None else 0
    return max(1, n_workers // n_nodes)


def _said(numbers: range) -> str:
    return f"{numbers[0] + 1}-{numbers[-1] + 1}"


def _as_raised(kind: str, words: str) -> ParcadeError:
    """Return what a node raised, as if it had been raised here."""
    if kind == UNFIT:
        return ClusterError(words)
    raised = getattr(parcade.errors, kind, None)
    if isinstance(raised, type) and issubclass(raised, ParcadeError):
        return raised(words)
    return RunError(f"{words} ({kind})")
