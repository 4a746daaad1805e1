"""Learners as actors of a Ray cluster: how they are started, heard, watched and ended."""

from __future__ import annotations

import contextlib
import logging
import pickle
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from parcade.cluster.files import SentFiles
from parcade.cluster.gloo_exchange import GlooPlace
from parcade.cluster.learner import LOST, UNFIT, RayLearner, sweep_node
from parcade.cluster.nodes import Nodes
from parcade.cluster.notice_board import ABANDONED, NoticeBoard
from parcade.cluster.pieces import count_for, in_pieces
from parcade.cluster.placement import Placement, check_cores, is_crowded, spread_out, with_workers, workers_each
from parcade.cluster.private_gloo import check_gloo
from parcade.cluster.versions import versions
from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.errors import PoolError
from parcade.train.spread.messages import Death, Failed, Holding, LearnerOrders, by_value

log = logging.getLogger("parcade.train")
START_S = 180.0  # what a learner gets to be scheduled and to open its games
CLOSING_S, AT_ONCE_S = 10.0, 4.0
SWEEP_S = 10.0
LOOK_S = 1.0  # between two looks at who moves, and at which nodes there are


@dataclass(slots=True)
class Posted:
    """A learner on a node."""

    actor: Any
    placement: Placement
    reserved: float  # cores that Ray keeps for it
    kind: type | None = None  # of the command it obeys; None: it opens its games
    answer: list[Any] = field(default_factory=list)  # the pieces of what it will answer
    until_s: float = 0.0  # when it is taken for hung
    beats: int = 0
    is_open: bool = False


class RayCrew:
    """A crew of actors; each answers one command at a time."""

    def __init__(self, ray: Any, nodes: Nodes, spec: EnvSpec, settings: TrainSettings, holdings: list[Holding]) -> None:
        self._ray, self._spec, self._settings, self._holdings = ray, spec, settings, holdings
        self._all, self._deadline_s = range(len(holdings)), settings.step_deadline_s
        self._each = workers_each(settings.n_workers, len(holdings))
        self._nodes = nodes
        check_gloo(len(holdings))
        check_cores(self._nodes.cores(), len(holdings), self._each or 1)
        self._files = SentFiles(ray, spec)
        self._posted: dict[int, Posted] = {}
        self._sizes: dict[tuple[int, type | None], int] = {}  # bytes of what a learner last answered to such a command
        self._homeless: dict[int, float] = {}  # learners without a place, and since when
        self._looked_s = self._moved_s = 0.0
        self._board: NoticeBoard | None = None
        self._generation = 0
        self._has_lost = False
        self.leaving = ExitStack()  # what ends with the crew

    def words(self, learner: int) -> str:
        """Return what a learner is called in messages."""
        shards, slots = self._holdings[learner].shards, self._holdings[learner].slots
        post = self._posted.get(learner)
        where = "" if post is None else f" on node {self._nodes.host(post.placement.node)}"
        return f"learner {learner} (shards {shards[0]}-{shards[-1]}, slots {slots[0]}-{slots[-1]}){where}"

    def start(self, learner: int) -> None:
        """Start a learner as soon as there is a place for it; ``Opened`` is the first thing heard of it."""
        self._end(learner)
        self._generation += 1
        self._homeless[learner] = time.monotonic()
        self._find_node(learner)

    def _find_node(self, learner: int) -> None:
        """Start a learner that has no place, where there is one."""
        cores, held = self._nodes.cores(), {one: post.placement.node for one, post in self._posted.items()}
        waited_s = time.monotonic() - self._homeless[learner]
        waits = self._board is not None and waited_s < self._settings.cluster_wait
        if not cores and not waits:
            raise PoolError(f"{self.words(learner)} has no node: no node that is left in the cluster can hold it")
        if not cores or (waits and is_crowded(cores, held, self._all)):
            return
        placement = with_workers(spread_out(cores, held, self._all), cores, self._each)[learner]
        taken = sum(post.reserved for post in self._posted.values() if post.placement.node == placement.node)
        wanted = max(1, placement.n_workers)
        del self._homeless[learner]
        # Where learners share cores the second one has none of its own in Ray's books.
        self._launch(learner, placement, wanted if wanted + taken <= cores[placement.node] else 0)

    def _launch(self, learner: int, placement: Placement, reserved: float) -> None:
        orders = LearnerOrders(self._settings, self._spec, self._holdings[learner], placement.n_workers)
        strategy = NodeAffinitySchedulingStrategy(node_id=placement.node, soft=False)
        made = self._ray.remote(RayLearner).options(
            num_cpus=reserved, max_restarts=0, max_task_retries=0, scheduling_strategy=strategy
        )
        actor = made.remote(orders, self._files.sent, self._files.refs, versions())
        post = self._posted[learner] = Posted(actor, placement, reserved)
        self._wait_for(learner, post, [actor.opened.remote()], START_S)

    def _wait_for(self, learner: int, post: Posted, answer: list[Any], patience_s: float) -> None:
        post.answer, post.until_s, post.beats = answer, time.monotonic() + patience_s, self._beat(learner)

    def _beat(self, learner: int) -> int:
        return 0 if self._board is None else self._board.beats(learner)

    def place(self, n_shards: int, n_weights: int, n_columns: int) -> GlooPlace:
        """Serve the board on which learners find each other."""
        self._board = NoticeBoard.served(self._ray.util.get_node_ip_address(), self._deadline_s)
        for learner in self._all:
            self._board.beat(learner, 0)
        return GlooPlace(self._board.address, n_shards, n_weights, self._generation)

    def begin(self, attempt: int) -> None:
        """Let an update begin; no learner is at work."""
        assert self._board is not None
        self._board.begin(attempt)

    def abandon(self) -> None:
        """Have everybody who waits for another learner give the update up; they will meet anew."""
        self.begin(ABANDONED)
        self._generation += 1

    def bytes_per_update(self, learner: int) -> float:
        """Return how much a learner has sent to others for an update, on average."""
        assert self._board is not None
        updates, n_bytes = self._board.sent(learner)
        return n_bytes / max(1, updates)

    def moving(self) -> list[int]:
        """End learners that another node holds better; a node that has joined gets its part this way."""
        now_s = time.monotonic()
        if now_s - self._moved_s < LOOK_S:
            return []
        self._moved_s = now_s
        held = {one: post.placement.node for one, post in self._posted.items()}
        cores = self._nodes.cores()
        if not cores or not set(held.values()) <= set(cores) | self._nodes.draining:
            return []  # a node is about to be found dead: its learners are placed then
        wanted = with_workers(spread_out(cores, held, self._all), cores, self._each)
        moved = [learner for learner, placement in wanted.items() if placement != self._posted[learner].placement]
        for learner in moved:
            why = ", for its node is drained" if held[learner] in self._nodes.draining else ""
            log.info("%s moves to node %s%s", self.words(learner), self._nodes.host(wanted[learner].node), why)
        for learner in moved:
            self._end(learner, orderly=True)
        return moved

    def send(self, learner: int, command: Any) -> None:
        """Hand over a command."""
        post, packed = self._posted[learner], by_value(command)
        post.kind = type(command)
        count = count_for(self._sizes.get((learner, post.kind), 0))
        sent = in_pieces(packed, count_for(len(packed)))
        answer = post.actor.obey.options(num_returns=count).remote(self._generation, count, *sent)
        self._wait_for(learner, post, answer if count > 1 else [answer], self._deadline_s)

    def receive(self, learners: set[int], timeout_s: float) -> list[tuple[int, Any]]:
        """Return what was heard of these learners, each of which has a command: answers and deaths."""
        for learner in sorted(learners & set(self._homeless)):
            self._find_node(learner)
        asked = {self._posted[one].answer[0]: one for one in learners if one in self._posted}
        if not asked:
            time.sleep(timeout_s)
            return []
        ready, _ = self._ray.wait(list(asked), num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
        heard = [(asked[ref], self._read(asked[ref])) for ref in ready]
        return [one for one in heard if one[1] is not None] if heard else self._hung(sorted(asked.values()))

    def _read(self, learner: int) -> Any:
        """Return an answer, or the learner's death; None where it only looks for another node."""
        post = self._posted[learner]
        try:
            packed = b"".join(self._ray.get(post.answer, timeout=self._deadline_s))
        except RayError as error:
            if not post.is_open and "__init__" in str(error):
                return self._turned_away(learner, UNFIT, f"cannot run Parcade: {_last_line(error)}")
            return Death(self._buried(learner, error))
        self._sizes[learner, post.kind] = len(packed)
        told, found = pickle.loads(packed)
        for level, text in told:
            log.log(level, "%s", text)
        if isinstance(found, Failed) and not post.is_open:
            return self._turned_away(learner, found.kind, found.text)
        post.is_open = True
        return found

    def _turned_away(self, learner: int, kind: str, why: str) -> Failed | Death | None:
        """Tell what is wrong with a node; while a training goes on, only do without that node."""
        if kind == LOST:
            words = self.words(learner)
            self._files.send_again()
            self._lose(learner)
            return Death(f"{words} {why}; they are sent again")
        node = self._posted[learner].placement.node
        words = f"node {self._nodes.host(node)} {why}" if kind == UNFIT else f"node {self._nodes.host(node)}: {why}"
        if self._board is None:
            return Failed("ClusterError" if kind == UNFIT else kind, words, "")
        log.warning("%s; it is not used", words)
        self._nodes.unfit.add(node)
        self.start(learner)
        return None

    def _buried(self, learner: int, error: RayError) -> str:
        """Return in words how a learner came to its end, and forget it."""
        words, node = self.words(learner), self._posted[learner].placement.node
        answers = self._nodes.answers(node)
        self._lose(learner)
        if not answers:
            return f"{words} is gone with its node"
        if isinstance(error, GetTimeoutError):
            return f"{words} gave an answer that did not arrive in {self._deadline_s:g} s and was killed"
        return f"{words} died ({_cause(error)})"

    def _hung(self, learners: list[int]) -> list[tuple[int, Any]]:
        """End learners that have not moved for too long; return what is to be said of them."""
        now_s = time.monotonic()
        if now_s - self._looked_s < min(LOOK_S, self._deadline_s / 4):
            return []
        self._looked_s, found = now_s, []
        for learner in learners:
            post, beat = self._posted[learner], self._beat(learner)
            if post.is_open and beat != post.beats:
                post.beats, post.until_s = beat, now_s + self._deadline_s
            if now_s > post.until_s:
                found.append((learner, Death(self._given_up(learner))))
        return found

    def _given_up(self, learner: int) -> str:
        words, is_open = self.words(learner), self._posted[learner].is_open
        self._lose(learner)
        if is_open:
            return f"{words} did not move for {self._deadline_s:g} s and was killed"
        return f"{words} did not start in {START_S:g} s (other jobs may hold the node's cores)"

    def _lose(self, learner: int) -> None:
        self._nodes.suspected.add(self._posted[learner].placement.node)
        self._has_lost = True
        self._end(learner)

    def _end(self, learner: int, *, orderly: bool = False) -> None:
        """End a learner; ``orderly`` waits until it has put everything away."""
        post = self._posted.pop(learner, None)
        if post is None:
            return
        if orderly:
            self._ray.wait([post.actor.close.remote()], timeout=CLOSING_S)
        with contextlib.suppress(RayError):
            self._ray.kill(post.actor, no_restart=True)

    def close(self, *, at_once: bool = False) -> None:
        """End all learners: ask, then kill; twice is fine."""
        if self._board is not None:
            self._board.end()
        closing = [post.actor.close.remote(at_once) for post in self._posted.values()]
        patience_s = AT_ONCE_S if at_once else CLOSING_S
        done, _ = self._ray.wait(closing, num_returns=len(closing), timeout=patience_s) if closing else ([], [])
        self._has_lost |= len(done) < len(closing)
        for learner in list(self._posted):
            self._end(learner)
        if self._has_lost:
            swept(self._ray, self._nodes)
        self._has_lost, self._board = False, None
        self.leaving.close()


def swept(ray: Any, nodes: Nodes) -> None:
    """Have living nodes remove what killed actors left."""
    sweeping = []
    for node in nodes.cores():
        strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        sweeping.append(ray.remote(sweep_node).options(num_cpus=0, scheduling_strategy=strategy).remote())
    if sweeping:
        ray.wait(sweeping, num_returns=len(sweeping), timeout=SWEEP_S)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(error).__name__


def _cause(error: RayError) -> str:
    """Return what Ray says of a death, without its advice."""
    if isinstance(error, RayTaskError):
        return _last_line(error)
    text = " ".join(str(error).split())
    detail = text.partition("Worker exit detail:")[2] or text
    return f"{type(error).__name__}: {detail.strip().partition('. ')[0][:160]}"
