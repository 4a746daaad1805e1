import pytest

from parcade.bench.scale_model import Load, Network, curve, efficiency, exchange_s, largest

LOAD = Load(play_s=1.0, learn_s=0.2, n_steps=16, n_weights=100_000)
EVEN = Network(latency_s=0.0, bytes_per_s=1e15, spread=0.0, failures_per_hour=0.0)


def test_a_perfect_network_wastes_nothing():
    assert curve(LOAD, EVEN, (1, 2, 1000)) == pytest.approx({1: 1.0, 2: 1.0, 1000: 1.0}, rel=1e-6)


def test_the_same_seed_gives_the_same_curve():
    assert curve(LOAD, Network()) == curve(LOAD, Network())


def test_a_slow_network_stragglers_and_failures_each_cost():
    for worse in ({"latency_s": 1e-3}, {"bytes_per_s": 1e6}, {"spread": 0.2}, {"failures_per_hour": 10.0}):
        network = Network(**{"latency_s": 0.0, "bytes_per_s": 1e15, "spread": 0.0, "failures_per_hour": 0.0, **worse})
        assert efficiency(64, LOAD, network) < 0.99


def test_the_slowest_of_two_is_as_theory_has_it():
    """The mean of the larger of two normal numbers is 1 / sqrt(pi) above the mean."""
    network = Network(latency_s=0.0, bytes_per_s=1e15, spread=0.01, failures_per_hour=0.0)
    only_play = Load(play_s=1.0, learn_s=1e-12, n_steps=1, n_weights=1)
    assert efficiency(2, only_play, network, updates=20_000) == pytest.approx(1 / (1 + 0.01 * 0.5642), abs=2e-4)


def test_the_exchange_grows_with_the_nodes_by_latency_only():
    free = Network(latency_s=0.0)
    assert exchange_s(1, LOAD, free) == 0.0
    assert exchange_s(1000, LOAD, free) < 2.2 * exchange_s(2, LOAD, free)


def test_where_the_design_ends():
    assert largest(LOAD, EVEN) == 1000
    assert largest(LOAD, Network(latency_s=1e-2)) < 64
