"""The nodes of a cluster as the trainer sees them."""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from parcade.cluster.placement import part_of

_ANSWER_S = 1.0


class Node(NamedTuple):
    """A machine of the cluster, or a part of one."""

    id: str
    host: str
    port: int
    cores: int
    is_alive: bool  # as far as Ray knows


class Nodes:
    """All nodes there ever were. Ray takes a dead one for alive for many seconds, so suspected ones are asked."""

    def __init__(self, ray: Any, job: int = 0, n_jobs: int = 1) -> None:
        self._ray, self._job, self._n_jobs = ray, job, n_jobs
        self._known: dict[str, Node] = {}
        self.draining: set[str] = set()  # they will leave: who is there moves, nobody comes
        self.suspected: set[str] = set()  # a learner died there
        self.unfit: set[str] = set()

    def cores(self) -> dict[str, int]:
        """Return the cores of each node that this job can use now."""
        for told in self._ray.nodes():
            address, cores = (told["NodeManagerAddress"], told["NodeManagerPort"]), int(told["Resources"].get("CPU", 0))
            self._known[told["NodeID"]] = Node(told["NodeID"], *address, cores, told["Alive"])
        self.draining = _draining(self._ray)
        usable = {node.id: node.cores for node in self._known.values() if self._is_usable(node)}
        return part_of(usable, self._job, self._n_jobs)

    def _is_usable(self, node: Node) -> bool:
        if not node.is_alive or not node.cores or node.id in self.unfit | self.draining:
            return False
        if node.id in self.suspected and not self.answers(node.id):
            return False
        self.suspected.discard(node.id)
        return True

    def host(self, node: str) -> str:
        """Return a node's address, as messages name it."""
        return self._known[node].host

    def answers(self, node: str) -> bool:
        """Whether a node's raylet can be reached."""
        try:
            with socket.create_connection((self._known[node].host, self._known[node].port), _ANSWER_S):
                return True
        except OSError:
            return False


def _draining(ray: Any) -> set[str]:
    """Return the nodes that somebody drains; Ray tells it in a private place only, and older ones do not."""
    state = getattr(getattr(getattr(ray, "_private", None), "state", None), "state", None)
    asked = getattr(state, "get_draining_nodes", None)
    return set() if asked is None else set(asked())
