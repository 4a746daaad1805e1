"""When games move to other workers: the rules, without a process."""

from parcade.train.follow import Following, Layout, Look, Sharing, advance, fitting

EQUAL = Sharing((16, 16), (0, 1))
COST_S = 3.0


def looks(state, look, present, cost_s=COST_S, most=20, cores=(0, 1)):
    """Return after how many looks like this one it moves, and where to."""
    for number in range(1, most + 1):
        state, layout = advance(state, look, present, cores, cost_s)
        if layout is not None:
            return number, layout
    return None, None


def test_a_core_that_others_share_gets_fewer_slots():
    number, layout = looks(Following(), Look(1.0, (1.0, 0.5), {0: 0.0, 1: 0.0}), EQUAL)
    assert layout == Layout((0, 1), (1.0, 0.5))
    assert number == 9  # a third of each second is lost, and 3 s is what the move costs


def test_a_quiet_machine_moves_nothing():
    assert looks(Following(), Look(1.0, (1.0, 0.95), {0: 0.0, 1: 0.0}), EQUAL) == (None, None)


def test_cores_that_suffer_alike_keep_equal_shares():
    assert looks(Following(), Look(1.0, (0.5, 0.5), {0: 0.0, 1: 0.0}), EQUAL) == (None, None)


def test_a_short_disturbance_costs_no_move():
    state = Following()
    for share in (0.5, 0.5, 1.0, 1.0, 1.0, 1.0):
        state, layout = advance(state, Look(1.0, (1.0, share), {}), EQUAL, (0, 1), COST_S)
        assert layout is None
    assert state.lost_s == 0.0


def test_a_core_that_comes_free_gets_its_share_back():
    uneven = Sharing((21, 11), (0, 1))
    assert looks(Following({0: 1.0, 1: 0.5}), Look(1.0, (1.0, 1.0), {}), uneven)[1] == Layout((0, 1), (1.0, 1.0))


def test_a_core_that_gives_nothing_has_no_worker_until_it_is_free():
    taken = Look(1.0, (1.0, 0.02), {0: 0.0, 1: 0.0})
    assert looks(Following(), taken, EQUAL)[1] == Layout((0,), (1.0,))
    alone = Sharing((32,), (0,))
    assert looks(Following(), Look(1.0, (1.0,), {0: 0.0, 1: 0.1}), alone) == (None, None)
    assert looks(Following(), Look(1.0, (1.0,), {0: 0.0, 1: 0.9}), alone)[1] == Layout((0, 1), (1.0, 1.0))


def test_a_worker_on_any_core_is_joined_by_others_where_cores_are_idle():
    alone = Sharing((32,), (None,))
    assert looks(Following(), Look(1.0, (1.0,), {0: 0.5, 1: 0.5}), alone)[1] == Layout((0, 1), (1.0, 1.0))
    assert looks(Following(), Look(1.0, (1.0,), {0: 0.1, 1: 0.1}), alone) == (None, None)


def test_more_workers_than_cores_that_nobody_pinned_stay():
    assert looks(Following(), Look(1.0, (0.5, 0.5, 0.5), {}), Sharing((11, 11, 10), (None,) * 3)) == (None, None)


def test_a_core_that_may_not_be_used_any_more_is_left_at_once():
    assert looks(Following(), Look(0.0, (1.0, 1.0), {}), EQUAL, cores=(0,)) == (1, Layout((0,), (1.0,)))


def test_weights_are_quarters_of_the_best_core():
    assert fitting({0: 0.8, 1: 0.4, 2: 0.61, 3: 0.01}) == Layout((0, 1, 2), (1.0, 0.5, 0.75))
    assert fitting({0: 0.0, 1: 0.0}) == Layout((0, 1), (1.0, 1.0))
