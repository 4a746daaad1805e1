import signal

import pytest

from parcade.pool.lifecycle import (
    BEING_MADE,
    HEALTHY_BATCHES,
    IN_RESET,
    PAUSES_S,
    Answered,
    Cause,
    DeathPlace,
    Died,
    GiveUp,
    Life,
    Restart,
    advance,
    cause_of_exit,
)

RAISED = Cause("raised", "raised ZeroDivisionError")
KILLED = Cause("signal", "killed by SIGKILL", from_outside=True)
HERE, THERE = DeathPlace(3, 2, 17), DeathPlace(4, 0, 5)


def live(events, budget=5):
    life, orders = Life(), []
    for event in events:
        life, order = advance(life, event, budget)
        orders.append(order)
    return life, orders


def test_a_death_is_answered_by_a_restart_at_once_and_later_after_growing_pauses():
    _, orders = live([Died(RAISED, DeathPlace(0, 0, step)) for step in range(5)])
    assert [order.pause_s for order in orders] == list(PAUSES_S)
    assert all(order.cut is None for order in orders)


def test_the_same_place_twice_is_cut_out():
    life, orders = live([Died(RAISED, HERE), Died(RAISED, HERE)])
    assert orders == [Restart(PAUSES_S[0]), Restart(PAUSES_S[1], HERE)]
    assert (life.strikes, life.is_given_up) == (2, False)


def test_a_cause_from_outside_is_believed_only_the_third_time():
    _, orders = live([Died(KILLED, HERE)] * 3)
    assert [order.cut for order in orders] == [None, None, HERE]


def test_another_place_starts_the_count_again():
    _, orders = live([Died(RAISED, HERE), Died(RAISED, THERE), Died(RAISED, HERE)])
    assert [order.cut for order in orders] == [None, None, None]


def test_deaths_at_no_known_place_cut_nothing():
    _, orders = live([Died(RAISED, None)] * 4)
    assert [order.cut for order in orders] == [None] * 4


def test_a_reset_is_cut_but_the_making_of_an_env_is_not():
    in_reset, being_made = DeathPlace(3, 2, IN_RESET), DeathPlace(3, 2, BEING_MADE)
    assert live([Died(RAISED, in_reset)] * 2)[1][1].cut == in_reset
    assert live([Died(RAISED, being_made)] * 4)[1][3].cut is None


def test_more_deaths_than_the_budget_end_it():
    life, orders = live([Died(KILLED, None)] * 3, budget=2)
    assert orders[2] == GiveUp()
    assert life.is_given_up
    assert live([Died(KILLED, None)], budget=0)[1] == [GiveUp()]


def test_a_healthy_stretch_forgives_earlier_deaths():
    life, _ = live([Died(RAISED, HERE), Died(RAISED, THERE), Answered(HEALTHY_BATCHES)], budget=2)
    assert (life.strikes, life.place) == (0, None)
    life, order = advance(life, Died(RAISED, THERE), 2)
    assert order == Restart(PAUSES_S[0])


def test_a_shorter_stretch_does_not():
    life, orders = live([Died(RAISED, HERE), Answered(HEALTHY_BATCHES - 1), Died(RAISED, HERE)])
    assert orders[2].cut == HERE
    assert life.strikes == 2


def test_batches_add_up_until_a_death():
    life, _ = live([Died(RAISED, HERE), Answered(60), Answered(60)])
    assert life.strikes == 0
    life, _ = live([Died(RAISED, HERE), Answered(60), Died(RAISED, HERE), Answered(60)])
    assert life.strikes == 2


@pytest.mark.parametrize(
    ("code", "words", "outside"),
    [
        (-signal.SIGKILL, "killed by SIGKILL (out of memory, or killed by hand)", True),
        (-signal.SIGSEGV, "killed by SIGSEGV", False),
        (-signal.SIGTERM, "killed by SIGTERM", True),
        (-99, "killed by signal 99", False),
        (7, "exited by itself with code 7", False),
        (0, "exited by itself with code 0", False),
        (None, "closed its pipe without ending", False),
    ],
)
def test_exit_codes_are_told_in_words(code, words, outside):
    cause = cause_of_exit(code)
    assert (cause.words, cause.from_outside) == (words, outside)
