import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.spec import EnvSpec
from parcade.errors import PoolError
from parcade.pool.actor import ActorShape
from parcade.pool.block import Block, EnvShape, block_fields, status_fields
from parcade.pool.lifecycle import BEING_MADE, IN_RESET, Cause, DeathPlace
from parcade.pool.mapped import MappedArrays, plan_layout
from parcade.pool.progress import Progress
from parcade.pool.seeding import TrainingEpisodes
from parcade.pool.supervisor import Supervisor
from parcade.pool.worker import WorkerOrders

RAISED = Cause("raised", "raised ZeroDivisionError: x")


class Gone:
    """Stands for a process that has ended."""

    pid = 4121


@pytest.fixture
def supervisor():
    orders = WorkerOrders(0, range(3), 2, EnvSpec(game="lantern"), TrainingEpisodes(7), 1)
    found = Supervisor([orders], start_method="spawn", budget=3, step_deadline_s=1, start_deadline_s=1)
    shape = EnvShape(spaces.Discrete(2), spaces.Discrete(9), ())
    files = [
        MappedArrays.create(plan_layout(fields))
        for fields in (status_fields(3, 1), block_fields(shape, 3, 8, ActorShape()))
    ]
    found._progress = Progress(files[0], [range(3)], 2, spaces.Discrete(9))
    found.progress.use([Block(files[1], ())])
    found.progress.note_starts()
    found.handles[0].process = Gone
    yield found
    for file in files:
        file.close()


def play(supervisor, group, actions, done=True):
    """Send actions to a group; its worker completes the step and recv hands it out, or neither."""
    progress = supervisor.progress
    fragment = progress.begin(group, 1, has_actor=False)
    progress.write_actions(fragment, np.array(actions))
    if done:
        progress.status["taken"][progress.parts[group]] = fragment.stop
        progress.finish(group)


def plans(supervisor):
    restore = supervisor._plan(supervisor.handles[0])
    return {slot: (p.episode, p.actions["obs"].tolist(), p.row, p.doomed) for slot, p in restore.slots.items()}


def test_idle_slots_go_back_to_where_they_stand(supervisor):
    play(supervisor, 0, [3, 4])
    play(supervisor, 0, [5, 6])
    assert plans(supervisor) == {0: (0, [3, 5], 2, False), 1: (0, [], 0, False), 2: (0, [4, 6], 2, False)}


def test_a_step_under_way_is_taken_again_by_all_slots_of_the_worker(supervisor):
    play(supervisor, 0, [3, 4])
    play(supervisor, 0, [5, 6], done=False)
    assert plans(supervisor) == {0: (0, [3], 1, False), 1: (0, [], 0, False), 2: (0, [4], 1, False)}
    assert supervisor.progress.fragment(0)[2:4] == (1, 2)


def test_a_complete_step_that_ended_an_episode_leads_into_the_next(supervisor):
    play(supervisor, 0, [3, 4], done=False)
    block, progress = supervisor.progress.present, supervisor.progress
    block.terminated[0, 0], block.episode[0, 0] = True, 1
    progress.status["taken"][0] = 1
    assert plans(supervisor)[0] == (1, [], 1, False)


def test_a_deadly_step_dooms_its_slot_under_way_or_not(supervisor):
    for action in range(5):
        play(supervisor, 0, [action, action])
    supervisor._cut(DeathPlace(2, 0, 3))
    assert plans(supervisor)[2] == (0, [0, 1, 2], 5, True)
    play(supervisor, 0, [8, 8], done=False)
    assert plans(supervisor)[2] == (0, [0, 1, 2], 5, True)
    assert plans(supervisor)[0] == (0, [0, 1, 2, 3, 4], 5, False)
    assert len(supervisor.cut) == 1


def test_an_episode_whose_reset_kills_now_is_lost(supervisor):
    play(supervisor, 0, [3, 4])
    supervisor._cut(DeathPlace(0, 0, IN_RESET))
    assert plans(supervisor)[0] == (0, [], 1, True)
    supervisor._cut(DeathPlace(0, 0, IN_RESET))
    assert len(supervisor.cut) == 1


def test_a_worker_that_dies_before_it_says_where_is_nowhere(supervisor):
    arrays, handle = supervisor.progress.status, supervisor.handles[0]
    arrays["current_slot"][0], arrays["episode"][1], arrays["running_length"][1] = 1, 6, 40
    assert supervisor._last_place(handle) == DeathPlace(1, 6, 40)
    assert supervisor._last_place(handle) is None


def test_deaths_are_told_in_words(supervisor, caplog):
    handle = supervisor.handles[0]
    supervisor._decide(handle, RAISED, DeathPlace(1, 4, 18204))
    supervisor._decide(handle, RAISED, DeathPlace(1, 4, IN_RESET))
    supervisor._decide(handle, RAISED, DeathPlace(1, 4, BEING_MADE))
    who = "worker 0 (slots 0-2, pid 4121) raised ZeroDivisionError: x"
    assert supervisor.restarts == [
        f"{who} in slot 1 at step 18204 of episode 4 of 'lantern'; restored exactly (1 of 3 restarts used)",
        f"{who} in slot 1 at its reset of episode 4 of 'lantern'; restored exactly (2 of 3 restarts used)",
        f"{who} while the env 'lantern' of slot 1 was being made; restored exactly (3 of 3 restarts used)",
    ]
    assert not caplog.records  # before it is known what came of them
    supervisor._tell_restored([], handle)
    assert [record.getMessage() for record in caplog.records] == supervisor.restarts[-1:]
    with pytest.raises(PoolError, match=r"raised ZeroDivisionError: x; it died 4 times in a row, and 3 restarts"):
        supervisor._decide(handle, RAISED, None)
