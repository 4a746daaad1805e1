"""Learners of one machine exchange gradients through a file that all of them map."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import torch
from torch import Tensor

from parcade.errors import ParcadeError
from parcade.learn.exchange import FloatSK
from parcade.pool.mapped import Field, Layout, MappedArrays, plan_layout

_YIELDS = 200  # looks at the others before this process sleeps between two
_NAP_S = 1e-4


class UpdateAbandonedError(ParcadeError):
    """An update cannot be finished: another learner is gone."""


class MappedPlace(NamedTuple):
    """Where the file is and how it is laid out."""

    path: str
    layout: Layout


def exchange_fields(n_shards: int, n_learners: int, n_weights: int, n_columns: int) -> Layout:
    """Return the layout: two of everything that is exchanged, so that one meeting for each exchange is enough.

    Who writes for round n + 2 has met all others in round n + 1, so all of them have read what round n left there.
    """
    return plan_layout(
        [
            Field("gradient", (2, n_shards, n_weights), "<f4", fill=0),
            Field("table", (2, n_shards, n_columns), "<f8", fill=0),
            Field("arrived", (n_learners,), "<i8", fill=0),
            Field("beats", (n_learners,), "<u8", fill=0),
            Field("attempt", (1,), "<i8", fill=0),
        ]
    )


class MappedExchange:
    """An ``Exchange`` over the mapped file; every learner adds up all gradients by itself."""

    def __init__(self, mapped: MappedArrays, n_shards: int, held: range, learner: int) -> None:
        self.n_shards, self.held, self._learner, self._mapped = n_shards, held, learner, mapped
        self._table, self._arrived = mapped.arrays["table"], mapped.arrays["arrived"]
        self._beats, self._attempts = mapped.arrays["beats"], mapped.arrays["attempt"]
        self._gradients = torch.from_numpy(mapped.arrays["gradient"])
        self._round, self._attempt = 0, 0

    def begin(self, attempt: int) -> None:
        """Forget what was exchanged: all learners begin an update together."""
        self._round, self._attempt = 0, attempt

    def beat(self) -> None:
        """Show that this learner moves."""
        self._beats[self._learner] += 1

    def gather(self, own: FloatSK) -> FloatSK:
        """Hand over a row for each shard that is held; return the rows of all shards, in their order."""
        self._round += 1
        table = self._table[self._round % 2, :, : own.shape[1]]
        table[self.held.start : self.held.stop] = own
        self._meet()
        return table.copy()

    def split_at(self, first: int) -> bool:
        """Return False: a copy in memory is over as soon as it begins."""
        return False

    def give_ahead(self, shard: int, gradient: Tensor) -> None:
        """Do nothing: ``give`` has all of it."""

    def give(self, shard: int, gradient: Tensor) -> None:
        """Hand over the gradient of one shard that is held."""
        self._gradients[(self._round + 1) % 2, shard].copy_(gradient)
        self.beat()

    def add_up(self, into: Tensor) -> None:
        """Write the sum of all shards' gradients, added in their order."""
        self._round += 1
        self._meet()
        first, *others = self._gradients[self._round % 2]
        into.copy_(first)
        for gradient in others:
            into.add_(gradient)

    def _meet(self) -> None:
        """Wait until every learner has come as far; raise UpdateAbandonedError once the trainer gives the update up."""
        self._arrived[self._learner] = self._round
        looks = 0
        while int(self._arrived.min()) < self._round:
            if int(self._attempts[0]) != self._attempt:
                raise UpdateAbandonedError
            looks += 1
            if looks < _YIELDS:
                os.sched_yield()
            else:
                self.beat()
                time.sleep(_NAP_S)
