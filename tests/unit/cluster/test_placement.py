import pytest

from parcade.cluster.placement import check_cores, is_crowded, spread_out, with_workers, workers_each
from parcade.errors import SettingsError


def counts(nodes):
    return {node: list(nodes.values()).count(node) for node in sorted(set(nodes.values()))}


def test_learners_are_spread_by_cores():
    assert counts(spread_out({"a": 4, "b": 4}, {}, range(8))) == {"a": 4, "b": 4}
    assert counts(spread_out({"a": 8, "b": 4}, {}, range(3))) == {"a": 2, "b": 1}
    assert spread_out({"a": 4, "b": 4}, {}, range(1)) == {0: "a"}


def test_a_learner_keeps_its_node():
    held = {0: "b", 1: "a"}
    assert spread_out({"a": 4, "b": 4}, held, range(2)) == held


def test_a_dead_node_is_done_without_and_a_new_one_gets_its_part():
    held = spread_out({"a": 2, "b": 2}, {}, range(4))
    without = spread_out({"a": 2}, held, range(4))
    assert set(without.values()) == {"a"}
    again = spread_out({"a": 2, "c": 2}, without, range(4))
    assert counts(again) == {"a": 2, "c": 2}
    assert spread_out({"a": 2, "c": 2}, again, range(4)) == again


@pytest.mark.parametrize("cores", [{"a": 1}, {"a": 3, "b": 1}, {"a": 5, "b": 2, "c": 7}])
@pytest.mark.parametrize("n_learners", [1, 2, 5, 16])
def test_spreading_again_moves_nobody(cores, n_learners):
    once = spread_out(cores, {}, range(n_learners))
    assert spread_out(cores, once, range(n_learners)) == once


def test_learners_of_a_node_share_its_cores():
    placements = with_workers({0: "a", 1: "a", 2: "b"}, {"a": 5, "b": 3}, None)
    assert [placements[learner].n_workers for learner in range(3)] == [2, 2, 3]
    assert with_workers({0: "a"}, {"a": 5}, 0)[0].n_workers == 0


@pytest.mark.parametrize(("asked", "each"), [(None, None), (0, 0), (8, 2), (3, 1)])
def test_workers_are_divided(asked, each):
    assert workers_each(asked, 4) == each


def test_too_few_cores_are_told_with_numbers():
    check_cores({"a": 2, "b": 2}, 4, 1)
    with pytest.raises(
        SettingsError, match=r"4 learners with 1 core each do not fit on a cluster with 1 core on 1 node;"
    ):
        check_cores({"a": 1}, 4, 1)
    with pytest.raises(
        SettingsError, match="2 learners with 3 cores each do not fit on a cluster with 8 cores on 4 nodes"
    ):
        check_cores(dict.fromkeys("abcd", 2), 2, 3)


def test_a_cluster_is_crowded_where_learners_would_share_cores():
    assert not is_crowded({"a": 1, "b": 1}, {}, range(2))
    assert is_crowded({"a": 1}, {}, range(2))
    assert is_crowded({}, {}, range(1))
