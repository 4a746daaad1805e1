import pytest
from gymnasium import spaces

from parcade.env.spec import EnvSpec
from parcade.errors import PoolError
from parcade.pool.grouping import GroupedRows
from parcade.pool.layout import plan_layout
from parcade.pool.lifecycle import BEING_MADE, IN_RESET, Cause, Place
from parcade.pool.slab import Slab
from parcade.pool.supervisor import Supervisor
from parcade.pool.worker import WorkerOrders

RAISED = Cause("raised", "raised ZeroDivisionError: x")


class Gone:
    """Stands for a process that has ended."""

    pid = 4121


@pytest.fixture
def supervisor():
    orders = WorkerOrders(0, range(3), 2, EnvSpec(game="lantern"), 7, 1)
    found = Supervisor([orders], start_method="spawn", budget=3, step_deadline_s=1, start_deadline_s=1)
    slab = Slab.create(plan_layout(spaces.Discrete(2), spaces.Discrete(9), (), 3, 1))
    found._slab, found._groups = slab, GroupedRows(slab, 3, 2, spaces.Discrete(9))
    found._begun = True
    found.seats[0].process = Gone
    for name in ("terminated", "truncated", "steps_done"):
        slab.arrays[name][:] = 0
    yield found
    slab.close()


def play(supervisor, group, actions, done=True):
    """Send actions to a group; its slots complete the step and recv hands it out, or neither."""
    groups = supervisor._groups
    groups.note_actions(actions, group)
    if done:
        supervisor._slab.arrays["steps_done"][groups.slots[group]] += 1
        groups.finish(group)


def plans(supervisor):
    restore, unfinished = supervisor._plan(supervisor.seats[0])
    told = {slot: (p.episode, p.actions["obs"].tolist(), p.doomed) for slot, p in restore.slots.items()}
    return told, unfinished


def test_idle_slots_go_back_to_where_they_stand(supervisor):
    play(supervisor, 0, [3, 4])
    play(supervisor, 0, [5, 6])
    assert plans(supervisor) == ({0: (0, [3, 5], False), 1: (0, [], False), 2: (0, [4, 6], False)}, [])


def test_a_step_under_way_is_taken_again_where_its_row_is_not_complete(supervisor):
    play(supervisor, 0, [3, 4])
    play(supervisor, 0, [5, 6], done=False)
    supervisor._slab.arrays["steps_done"][2] += 1
    assert plans(supervisor) == ({0: (0, [3], False), 1: (0, [], False), 2: (0, [4, 6], False)}, [0])


def test_a_complete_step_that_ended_an_episode_leads_into_the_next(supervisor):
    play(supervisor, 0, [3, 4], done=False)
    arrays = supervisor._slab.arrays
    arrays["steps_done"][0] += 1
    arrays["terminated"][0], arrays["episode"][0] = 1, 1
    told, unfinished = plans(supervisor)
    assert (told[0], unfinished) == ((1, [], False), [2])


def test_a_deadly_step_dooms_its_slot_under_way_or_not(supervisor):
    for action in range(5):
        play(supervisor, 0, [action, action])
    supervisor._cut(Place(2, 0, 3))
    assert plans(supervisor)[0][2] == (0, [0, 1, 2], True)
    play(supervisor, 0, [8, 8], done=False)
    assert plans(supervisor)[0] == {0: (0, [0, 1, 2, 3, 4], False), 1: (0, [], False), 2: (0, [0, 1, 2], True)}
    assert supervisor.cut_episodes == 1


def test_an_episode_whose_reset_kills_now_is_lost(supervisor):
    play(supervisor, 0, [3, 4])
    supervisor._cut(Place(0, 0, IN_RESET))
    assert plans(supervisor)[0][0] == (0, [], True)
    supervisor._cut(Place(0, 0, IN_RESET))
    assert supervisor.cut_episodes == 1


def test_a_worker_that_dies_before_it_says_where_is_nowhere(supervisor):
    arrays, seat = supervisor._slab.arrays, supervisor.seats[0]
    arrays["current_slot"][0], arrays["episode"][1], arrays["running_length"][1] = 1, 6, 40
    assert supervisor._last_place(seat) == Place(1, 6, 40)
    assert supervisor._last_place(seat) is None


def test_deaths_are_told_in_words(supervisor, caplog):
    seat = supervisor.seats[0]
    supervisor._decide(seat, RAISED, Place(1, 4, 18204))
    supervisor._decide(seat, RAISED, Place(1, 4, IN_RESET))
    supervisor._decide(seat, RAISED, Place(1, 4, BEING_MADE))
    who = "worker 0 (slots 0-2, pid 4121) raised ZeroDivisionError: x"
    assert supervisor.restarts == [
        f"{who} in slot 1 at step 18204 of episode 4 of 'lantern'; restored exactly (1 of 3 restarts used)",
        f"{who} in slot 1 at its reset of episode 4 of 'lantern'; restored exactly (2 of 3 restarts used)",
        f"{who} while the env 'lantern' of slot 1 was being made; restored exactly (3 of 3 restarts used)",
    ]
    assert [record.getMessage() for record in caplog.records] == supervisor.restarts
    with pytest.raises(PoolError, match=r"raised ZeroDivisionError: x; it died 4 times in a row, and 3 restarts"):
        supervisor._decide(seat, RAISED, None)
