"""Interquartile means and bootstrap intervals, against numbers worked out by hand."""

import numpy as np
import pytest

from parcade.run.statistics import bands, improvement, interval, iqm


def test_a_quarter_is_left_out_at_each_end():
    assert iqm(np.array([5.0])) == 5.0
    assert iqm(np.array([1.0, 2.0, 6.0])) == 3.0  # too few to leave one out
    assert iqm(np.array([-100.0, 1.0, 3.0, 1e9])) == 2.0
    assert iqm(np.array([0.0, 0, 1, 2, 3, 4, 99, 99])) == 2.5
    assert iqm(np.array([[1.0, 9.0], [3.0, 5.0]])).tolist() == [2.0, 7.0]


def test_an_interval_holds_the_measure_and_is_the_same_every_time():
    scores = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    found = interval(scores)
    assert found == interval(scores)
    assert found.low < found.value == 3.0 < found.high
    assert found.low >= 1.0
    assert found.high <= 10.0
    assert interval(np.array([4.0])) == (4.0, 4.0, 4.0)
    assert interval(np.array([4.0, 4.0, 4.0])) == (4.0, 4.0, 4.0)


def test_the_interval_of_two_seeds_is_worked_out():
    # Both drawn are low in a quarter of the resamples, and high in another: the ends are the seeds themselves.
    assert interval(np.array([0.0, 10.0])) == (5.0, 0.0, 10.0)


def test_more_seeds_narrow_the_interval():
    draw = np.random.default_rng(1).normal(size=200)
    few, many = interval(draw[:8]), interval(draw)
    assert many.high - many.low < 0.5 * (few.high - few.low)


def test_improvement_counts_pairs_and_halves_draws():
    assert improvement(np.array([2.0, 3.0]), np.array([1.0, 1.0])).value == 1.0
    assert improvement(np.array([1.0, 3.0]), np.array([1.0, 3.0])).value == 0.5
    assert improvement(np.array([1.0]), np.array([1.0, 5.0])).value == pytest.approx(0.25)


def test_bands_follow_the_curves():
    curves = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [0.0, 2.0, 3.0]])
    middle, low, high = bands(curves)
    assert middle.tolist() == [0.0, 2.0, 3.0]
    assert low[0] == high[0] == 0.0
    assert (low[1:] >= [1.0, 2.0]).all()
    assert (high[1:] <= [3.0, 4.0]).all()
    assert (low[1:] < high[1:]).all()
