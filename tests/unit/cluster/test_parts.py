"""Who of several jobs uses which node, and who plays which episodes: everything is dealt out, nothing twice."""

import pytest

from parcade.cluster.placement import dealt, part_of

CORES = {"a": 4, "b": 2, "c": 4, "d": 1}


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 4])
def test_jobs_have_nodes_of_their_own(n_jobs):
    parts = [part_of(CORES, job, n_jobs) for job in range(n_jobs)]
    nodes = [node for part in parts for node in part]
    assert sorted(nodes) == sorted(CORES)
    assert all(part for part in parts)


@pytest.mark.parametrize("n_jobs", [5, 7, 8])
def test_more_jobs_than_nodes_share_cores_and_use_none_twice(n_jobs):
    used = dict.fromkeys(CORES, 0)
    for job in range(n_jobs):
        for node, cores in part_of(CORES, job, n_jobs).items():
            used[node] += cores
    assert all(used[node] <= CORES[node] for node in CORES)


def test_a_core_that_would_have_to_be_shared_is_nobodys():
    assert [part_of({"a": 1}, job, 2) for job in range(2)] == [{}, {}]
    assert part_of({}, 0, 2) == {}


@pytest.mark.parametrize("episodes", [1, 3, 11, 100])
def test_every_episode_is_played_by_one_node(episodes):
    parts = dealt(range(5, 5 + episodes), CORES)
    assert sorted(number for part in parts.values() for number in part) == list(range(5, 5 + episodes))
    assert all(parts.values())
    if episodes == 11:
        assert {node: len(part) for node, part in parts.items()} == CORES
