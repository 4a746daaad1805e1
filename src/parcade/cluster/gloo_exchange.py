"""Learners of several machines exchange gradients over gloo, and add them up in the order of the shards.

Where the network is large, each learner adds up one slice for all of them: every learner sends the slices of its
shards to who adds them, and gets all sums back. What a learner sends does not grow with the number of learners. A small
network is sent whole, which takes one meeting instead of two. Either way the sum of an element is made of the same
additions in the same order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from parcade.cluster.notice_board import NoticeBoard, c10d
from parcade.learn.exchange import FloatSK
from parcade.train.spread.mapped_exchange import UpdateAbandonedError
from parcade.train.spread.messages import Holding

SMALL = 1 << 17  # bytes that a learner may send more for having one meeting instead of two
_GLANCE_S = 0.2
_GLANCE = timedelta(seconds=_GLANCE_S)
_BEAT_S = 0.5  # between two notes to the trainer
ResultT = TypeVar("ResultT")


class GlooPlace(NamedTuple):
    """Where the notice board is, and how large what is exchanged will be."""

    board: tuple[str, int]
    n_shards: int
    n_weights: int
    generation: int  # who meets; another number for every change


class TrainingOverError(UpdateAbandonedError):
    """The trainer has ended the training."""


class GlooExchange:
    """An ``Exchange`` between learners on several machines; with one learner nothing is sent."""

    def __init__(self, place: GlooPlace, holding: Holding, address: str, deadline_s: float) -> None:
        self.n_shards, self.held = place.n_shards, holding.shards
        self._learner, self._n_learners = holding.learner, holding.n_learners
        self._address, self._deadline_s = address, deadline_s
        self._board = NoticeBoard.at(place.board, deadline_s)
        self.generation, self._built = place.generation, -1
        self._group: Any = None
        self._attempt, self._beats, self._said_s = 0, 0, 0.0
        self.bytes_sent = self._updates = 0  # to other learners, in so many updates
        self._slice = -(-place.n_weights // self._n_learners)
        self._whole = sends_whole(place.n_weights, self._n_learners, len(self.held))
        n_others, n_held = self._n_learners - 1, len(self.held)
        # Whole gradients go to the others only, one copy for each; slices also to ourselves.
        shape = (max(1, n_others), n_held, place.n_weights) if self._whole else (self._n_learners, n_held, self._slice)
        self._own, self._found = torch.zeros(shape), torch.zeros(shape)
        self._sum = torch.zeros(self._slice)
        self._sums = torch.zeros(self._n_learners, self._slice)

    def begin(self, attempt: int) -> None:
        """Begin an update together with all learners; they meet anew where one of them is a new one."""
        self._attempt = attempt
        self._board.note_sent(self._learner, self._updates, self.bytes_sent)
        self._updates += 1
        if self._n_learners > 1 and self._built != self.generation:
            old, self._group, generation = [self._group], None, self.generation
            _let_go(old)
            self._group = self._patiently(self._meet, "to meet the others")
            self._built = generation

    def _meet(self) -> Any:
        options = c10d.ProcessGroupGloo._Options()
        options._timeout, options._threads = timedelta(seconds=self._deadline_s), 1
        options._devices = [c10d.ProcessGroupGloo.create_device(hostname=self._address)]
        store = NoticeBoard.at(self._board.address, self._deadline_s).store  # of this thread's own
        prefixed = c10d.PrefixStore(f"meeting-{self.generation}", store)
        return c10d.ProcessGroupGloo(prefixed, self._learner, self._n_learners, options)

    def beat(self) -> None:
        """Show that this learner moves, and look whether the training goes on; not more often than is of use."""
        self._beats += 1
        now_s = time.monotonic()
        if now_s - self._said_s < _BEAT_S:
            return
        self._said_s = now_s
        self._board.beat(self._learner, self._beats)
        if self._board.is_over():
            raise TrainingOverError("the training is over")

    def gather(self, own: FloatSK) -> FloatSK:
        """Hand over a row for each shard that is held; return the rows of all shards, in their order."""
        if self._group is None:
            return own
        mine = torch.from_numpy(np.ascontiguousarray(own))
        found = torch.empty((self._n_learners, *own.shape), dtype=torch.float64)
        self._all_gather(found, mine)
        return np.asarray(found.reshape(self.n_shards, -1).numpy())

    def give(self, shard: int, gradient: Tensor) -> None:
        """Hand over the gradient of one shard that is held."""
        at = shard - self.held.start
        if self._whole:
            self._own[:, at].copy_(gradient)
        else:
            for owner, part in enumerate(torch.split(gradient, self._slice)):
                self._own[owner, at, : len(part)].copy_(part)
        self.beat()

    def add_up(self, into: Tensor) -> None:
        """Write the sum of all shards' gradients, added in their order."""
        if self._group is None:
            _add_in_order(self._own[0], into)
        elif self._whole:
            self._swap([0 if learner == self._learner else 1 for learner in range(self._n_learners)])
            found = [*self._found[: self._learner], self._own[0], *self._found[self._learner :]]
            _add_in_order([gradient for shards in found for gradient in shards], into)
        else:
            self._swap([1] * self._n_learners)
            _add_in_order(self._found.flatten(0, 1), self._sum)
            self._all_gather(self._sums, self._sum)
            into.copy_(self._sums.reshape(-1)[: len(into)])

    def _swap(self, rows: list[int]) -> None:
        """Send each learner so many rows (none or one) of what is ours, and get as many of its own."""
        group, sizes = self._group, [count * self._own[0].numel() for count in rows]
        own, found = self._own.view(-1), self._found.view(-1)
        self._finish(lambda: group.alltoall_base(found, own, sizes, sizes))
        self.bytes_sent += (self._n_learners - 1) * self._own[0].numel() * 4

    def _all_gather(self, into: Tensor, mine: Tensor) -> None:
        group = self._group
        assert group is not None
        self._finish(lambda: group.allgather([list(into)], [mine]))
        self.bytes_sent += (self._n_learners - 1) * mine.numel() * mine.element_size()

    def _finish(self, start: Callable[[], Any]) -> None:
        """Wait until all learners have come as far; what is not to be waited for any longer is abandoned."""
        until_s = time.monotonic() + 2 * self._deadline_s
        try:
            work = start()
        except RuntimeError as error:
            raise self._lost(error) from None
        while True:
            # A wait that was too short and a broken link raise the same. What is over by now is asked how it ended.
            is_over = work.is_completed()
            try:
                work.wait(_GLANCE)
                return
            except RuntimeError as error:
                if is_over:
                    raise self._lost(error) from None
            if not work.is_completed():
                self._look_up(until_s)

    def _lost(self, error: RuntimeError) -> UpdateAbandonedError:
        self._built = -1
        return UpdateAbandonedError(str(error).splitlines()[0].rpartition("] ")[2][:120])

    def _look_up(self, until_s: float) -> None:
        """Raise where the trainer has given the update up, or nobody has come for too long."""
        self.beat()
        if self._board.attempt() != self._attempt:
            self._built = -1
            raise UpdateAbandonedError
        if time.monotonic() > until_s:
            self._built = -1
            raise UpdateAbandonedError(f"no answer for {2 * self._deadline_s:g} s")

    def _patiently(self, work: Callable[[], ResultT], what: str) -> ResultT:
        """Return what ``work`` returns; it runs beside us, for it may wait for learners that are gone."""
        done: Future[ResultT] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=run, name=f"parcade {what}", daemon=True).start()
        until_s = time.monotonic() + 2 * self._deadline_s
        while True:
            try:
                return done.result(_GLANCE_S)
            except NotYetError:
                self._look_up(until_s)
            except RuntimeError as error:
                raise self._lost(error) from None


def sends_whole(n_weights: int, n_learners: int, n_held: int) -> bool:
    """Whether every learner gets all gradients as they are: few bytes more are cheaper than a second meeting."""
    return bytes_per_step(n_weights, n_learners, n_held, True) <= SMALL + bytes_per_step(
        n_weights, n_learners, n_held, False
    )


def bytes_per_step(n_weights: int, n_learners: int, n_held: int, whole: bool) -> int:
    """Return what one learner sends to others for one optimiser step."""
    if whole:
        return (n_learners - 1) * n_held * n_weights * 4
    return (n_learners - 1) * (n_held + 1) * -(-n_weights // n_learners) * 4


def _add_in_order(gradients: Sequence[Tensor] | Tensor, into: Tensor) -> None:
    into.copy_(gradients[0])
    for gradient in gradients[1:]:
        into.add_(gradient)


def _let_go(held: list[Any]) -> None:
    """Forget a group elsewhere: its end waits for what it still has to send, which may be for nobody."""
    threading.Thread(target=held.clear, name="parcade lets go", daemon=True).start()
