"""A learner as an actor of a Ray cluster."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, ObjectLostError

from parcade.cluster.files import NodeFiles, Sent, sweep_folders
from parcade.cluster.gloo_exchange import GlooExchange, GlooPlace, TrainingOverError
from parcade.cluster.pieces import in_pieces
from parcade.cluster.versions import difference, versions
from parcade.pool.mapped import sweep_stale
from parcade.train.spread.holder import ShardHolder
from parcade.train.spread.messages import Failed, LearnerOrders, by_value
from parcade.train.spread.told import Told

FETCH_S = 120.0  # what a node gets to fetch ROMs and save states
UNFIT = "UnfitNodeError"  # the kind of ``Failed`` that says something of the node, not of the training
LOST = "LostFilesError"  # the kind that says that files were lost on their way


class RayLearner:
    """Obeys one command at a time. Answers are bytes: the trainer alone unpacks them."""

    def __init__(self, orders: LearnerOrders, sent: Sent, files: Mapping[str, Any], theirs: Mapping[str, str]) -> None:
        self._orders = orders
        self._holder: ShardHolder | None = None
        self._exchange: GlooExchange | None = None
        self._files: NodeFiles | None = None
        self._first: Any = None
        try:
            self._first, contents = first_fault(files, theirs)
            if self._first is None:
                self._first = self._open(sent, contents)
        except Exception as error:
            self._first = fault_of(error)

    def _open(self, sent: Sent, contents: Mapping[str, bytes]) -> Any:
        orders = self._orders
        Told.install()
        self._files = NodeFiles(sent, contents)
        here = LearnerOrders(orders.settings, self._files.unpacked(orders.spec), orders.holding, orders.n_workers)
        self._holder = ShardHolder(here, self._open_exchange)
        return self._holder.opened()

    def _open_exchange(self, place: GlooPlace) -> GlooExchange:
        util: Any = ray.util  # has no types
        address, deadline_s = util.get_node_ip_address(), self._orders.settings.step_deadline_s
        self._exchange = GlooExchange(place, self._orders.holding, address, deadline_s)
        return self._exchange

    def opened(self) -> bytes:
        """Return what the trainer has to know of the games, or why there are none."""
        return packed_answer(self._first)

    def obey(self, generation: int, n_pieces: int, *packed: bytes) -> bytes | list[bytes]:
        """Do what the trainer asks for; return the answer in so many pieces."""
        try:
            assert self._holder is not None
            if self._exchange is not None:
                self._exchange.generation = generation
            answer = packed_answer(self._holder.obey(pickle.loads(b"".join(packed))))
        except TrainingOverError:
            self.close(at_once=True)
            raise
        except Exception as error:
            answer = packed_answer(fault_of(error))
        return answer if n_pieces == 1 else in_pieces(answer, n_pieces)

    def close(self, at_once: bool = False) -> None:
        """End the games and remove the files; twice is fine."""
        if self._holder is not None:
            self._holder.close(at_once=at_once)
        if self._files is not None:
            self._files.close()


def sweep_node() -> None:
    """Remove what learners left on this node that were killed."""
    with contextlib.suppress(OSError):
        sweep_stale()
        sweep_folders()


def first_fault(files: Mapping[str, Any], theirs: Mapping[str, str]) -> tuple[Failed | None, dict[str, bytes]]:
    """Return why this node cannot be used, and what is in the files that were sent to it."""
    other = difference(theirs, versions())
    if other is not None:
        return Failed(UNFIT, other, ""), {}
    try:
        found = ray.get(list(files.values()), timeout=FETCH_S)
    except (ObjectLostError, GetTimeoutError) as error:
        return Failed(LOST, f"cannot fetch the game's files ({type(error).__name__})", ""), {}
    return None, dict(zip(files, found, strict=True))


def fault_of(error: Exception) -> Failed:
    """Return what is told of an exception."""
    return Failed(type(error).__name__, str(error), traceback.format_exc())


def packed_answer(answer: Any) -> bytes:
    """Return an answer with what was logged until now."""
    return by_value((Told.drained(), answer))
