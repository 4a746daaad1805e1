"""Which node holds which learner, and with how many workers: pure functions, the same for everybody who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from parcade.errors import ClusterError


class Placement(NamedTuple):
    """The node of a learner, and how many workers it has there."""

    node: str
    n_workers: int


def spread_out(cores: Mapping[str, int], held: Mapping[int, str], learners: range) -> dict[int, str]:
    """Return a node for each learner: who has one keeps it, unless another node would have fewer for each core.

    ``cores`` are those of the living nodes, ``held`` is where learners are now.
    """
    nodes = {learner: held[learner] for learner in learners if held.get(learner) in cores}
    counts = dict.fromkeys(cores, 0)
    for node in nodes.values():
        counts[node] += 1
    for learner in learners:
        if learner not in nodes:
            nodes[learner] = _emptiest(cores, counts)
            counts[nodes[learner]] += 1
    while True:
        fullest = max(counts, key=lambda node: (counts[node] / cores[node], node))
        other = _emptiest(cores, counts)
        if counts[fullest] / cores[fullest] <= (counts[other] + 1) / cores[other]:
            return nodes
        moved = max(learner for learner, node in nodes.items() if node == fullest)
        nodes[moved] = other
        counts[fullest] -= 1
        counts[other] += 1


def _emptiest(cores: Mapping[str, int], counts: Mapping[str, int]) -> str:
    """Return the node that has the most cores for each learner after it gets one more."""
    return min(cores, key=lambda node: ((counts[node] + 1) / cores[node], node))


def with_workers(nodes: Mapping[int, str], cores: Mapping[str, int], n_workers: int | None) -> dict[int, Placement]:
    """Return how many workers each learner gets: its part of its node's cores, or what the user asked for."""
    counts: dict[str, int] = {}
    for node in nodes.values():
        counts[node] = counts.get(node, 0) + 1
    return {
        learner: Placement(node, max(1, cores[node] // counts[node]) if n_workers is None else n_workers)
        for learner, node in nodes.items()
    }


def workers_each(n_workers: int | None, n_learners: int) -> int | None:
    """Return how many workers the user wants for each learner; None: as many as there are cores."""
    if n_workers is None or n_workers == 0:
        return n_workers
    return max(1, n_workers // n_learners)


def part_of(cores: Mapping[str, int], job: int, n_jobs: int) -> dict[str, int]:
    """Return the cores of one of several jobs that use a cluster side by side: nodes of its own, or a part of one.

    >>> part_of({"a": 4, "b": 2, "c": 4}, 0, 2), part_of({"a": 4, "b": 2, "c": 4}, 1, 2), part_of({"a": 4}, 2, 3)
    ({'a': 4, 'b': 2}, {'c': 4}, {'a': 1})
    """
    if n_jobs == 1 or not cores:
        return dict(cores)
    largest_first = sorted(cores, key=lambda node: (-cores[node], node))
    if n_jobs <= len(cores):
        return {node: cores[node] for node in largest_first[job::n_jobs]}
    node = largest_first[job % len(cores)]
    sharing = len(range(job % len(cores), n_jobs, len(cores)))
    return {node: cores[node] // sharing} if cores[node] >= sharing else {}


def dealt(numbers: range, cores: Mapping[str, int]) -> dict[str, range]:
    """Return which of an evaluation's episodes each node plays: neighbours, as many as it has cores for.

    >>> dealt(range(10, 20), {"a": 4, "b": 1})
    {'a': range(10, 18), 'b': range(18, 20)}
    """
    total, before, found = sum(cores.values()), 0, {}
    for node, count in sorted(cores.items()):
        first, stop = (numbers.start + len(numbers) * part // total for part in (before, before + count))
        before += count
        if stop > first:
            found[node] = range(first, stop)
    return found


def check_cores(cores: Mapping[str, int], n_learners: int, each: int) -> None:
    """Refuse to begin where learners would share cores."""
    there = sum(count // each for count in cores.values())
    if there < n_learners:
        total, nodes = sum(cores.values()), f"{len(cores)} node{'s' if len(cores) != 1 else ''}"
        raise ClusterError(
            f"{n_learners} learners with {each} core{'s' if each != 1 else ''} each do not fit on a cluster with "
            f"{total} core{'s' if total != 1 else ''} on {nodes}; use fewer shards or n_workers, or add nodes"
        )


def is_crowded(cores: Mapping[str, int], held: Mapping[int, str], learners: range) -> bool:
    """Whether learners would have to share cores now."""
    nodes = spread_out(cores, held, learners) if cores else {}
    return not nodes or any(list(nodes.values()).count(node) > cores[node] for node in cores)
