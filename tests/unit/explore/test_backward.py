"""Backward starts move through a demonstration as episodes succeed."""

from types import SimpleNamespace

import numpy as np

from parcade.explore.backward import ENOUGH, MOVES, WINDOW, BackwardStarts
from parcade.explore.lineage import Segment
from parcade.pool.seeding import Start

DEMO = Start(7, {"obs": np.arange(400) % 5})
MOVE = 400 // MOVES


def an_end(success):
    block = SimpleNamespace(metric_names=("success",), metrics=np.array([[[float(success)]]]))
    return Segment(0, 0, 7, DEMO.actions, 0, 1, True), block


def play(backward, rng, wins):
    for success in wins:
        start = backward.choose(rng)
        backward.note(*an_end(success), start)


def test_the_place_moves_back_after_enough_wins_and_ends_at_the_true_start():
    backward, rng = BackwardStarts([DEMO]), np.random.default_rng(0)
    assert backward.places == [400 - MOVE]
    play(backward, rng, [1] * (WINDOW - 1))
    assert backward.places == [400 - MOVE]
    play(backward, rng, [1])
    assert backward.places == [400 - 2 * MOVE]
    few = round(ENOUGH * WINDOW) - 1
    play(backward, rng, ([1] * few + [0] * (WINDOW - few)) * 3)
    assert backward.places == [400 - 2 * MOVE]
    play(backward, rng, [1] * WINDOW * MOVES)
    assert backward.places == [0]
    assert all(backward.choose(rng).n_steps < MOVE for _ in range(50))


def test_starts_lie_on_the_demonstration_and_never_at_its_end():
    backward, rng = BackwardStarts([DEMO]), np.random.default_rng(1)
    steps = {backward.choose(rng).n_steps for _ in range(200)}
    assert steps == set(range(400 - MOVE, 400))
    start = backward.choose(rng)
    assert start.seed == 7
    assert start.actions["obs"].tolist() == (np.arange(start.n_steps) % 5).tolist()


def test_other_starts_do_not_move_it():
    backward = BackwardStarts([DEMO])
    for start in (None, Start(8, {"obs": np.zeros(3, int)}), Start(7, {"obs": np.full(3, 4)})):
        for _ in range(2 * WINDOW):
            backward.note(*an_end(1), start)
    assert backward.places == [400 - MOVE]


def test_state_is_everything():
    one, other = BackwardStarts([DEMO]), BackwardStarts([DEMO])
    rng = np.random.default_rng(2)
    play(one, rng, [1] * (WINDOW + 5))
    other.load_state(one.state())
    play(one, np.random.default_rng(3), [1] * (WINDOW - 5))
    play(other, np.random.default_rng(3), [1] * (WINDOW - 5))
    assert one.places == other.places == [400 - 3 * MOVE]
