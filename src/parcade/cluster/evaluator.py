"""Play a part of an evaluation's episodes on a node of a Ray cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from parcade.cluster.files import NodeFiles, Sent
from parcade.cluster.learner import fault_of, first_fault, packed_answer
from parcade.train.episode_parts import PartOrders, play_here
from parcade.train.spread.told import Told


class RayEvaluator:
    """Plays once. Its answers are bytes, which only the trainer unpacks."""

    def __init__(self, sent: Sent, files: Mapping[str, Any], theirs: Mapping[str, str]) -> None:
        self._files: NodeFiles | None = None
        self._fault, contents = first_fault(files, theirs)
        if self._fault is None:
            Told.install()
            self._files = NodeFiles(sent, contents)

    def play(self, packed: bytes) -> Iterator[bytes]:
        """Give what came of each moment, as it comes; a fault is the last thing."""
        if self._fault is not None:
            yield packed_answer(self._fault)
            return
        try:
            assert self._files is not None
            policy, orders = pickle.loads(packed)
            assert isinstance(orders, PartOrders)
            torch.set_num_threads(1)
            here = orders.at(self._files.unpacked(orders.spec))
            for played in play_here(policy, here):
                yield packed_answer(played)
        except Exception as error:
            yield packed_answer(fault_of(error))

    def close(self) -> None:
        """Remove the files; twice is fine."""
        if self._files is not None:
            self._files.close()
