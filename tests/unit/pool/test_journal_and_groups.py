import numpy as np
import pytest
from gymnasium import spaces

from parcade.errors import PoolError, SettingsError
from parcade.pool.grouping import GroupedRows, check_counts
from parcade.pool.journal import Journal
from parcade.pool.layout import plan_layout
from parcade.pool.seeding import episode_seed
from parcade.pool.slab import Slab

ROWS = {"obs": np.zeros((4, 2), np.int64)}
GROUPS = [np.array([0, 2]), np.array([1, 3])]


def told(journal, steps, group=1):
    for step in range(steps):
        journal.append(group, {"obs": np.stack([[slot * 1000 + step, step] for slot in GROUPS[group]])})


def test_actions_come_back_in_order_however_many_they_are():
    journal = Journal(ROWS, GROUPS)
    told(journal, 200)
    assert journal.length.tolist() == [0, 200, 0, 200]
    assert journal.actions(3)["obs"].tolist() == [[3000 + step, step] for step in range(200)]
    assert journal.actions(3, 2)["obs"].tolist() == [[3000, 0], [3001, 1]]
    assert journal.actions(0)["obs"].shape == (0, 2)


def test_an_ended_episode_leaves_no_actions_behind():
    journal = Journal(ROWS, GROUPS)
    told(journal, 5)
    journal.finish(1, np.array([3]), np.array([8]))
    assert (journal.episode[3], journal.length[3]) == (8, 0)
    assert journal.length[1] == 5
    told(journal, 1)
    assert journal.actions(3)["obs"].tolist() == [[3000, 0]]


def test_a_log_is_emptied_of_ended_episodes_before_it_grows():
    journal = Journal(ROWS, GROUPS)
    for episode in range(50):  # slot 1's episodes are short, slot 3's never end
        told(journal, 10)
        journal.finish(1, np.array([1]), np.array([episode + 1]))
    assert journal.length.tolist() == [0, 0, 0, 500]
    assert journal.actions(3)["obs"][:, 1].tolist() == list(range(10)) * 50
    journal.finish(1, np.array([3]), np.array([1]))
    for _ in range(300):
        told(journal, 9)
        journal.finish(1, GROUPS[1], np.array([1, 1]))
    told(journal, 3)
    assert journal.actions(1)["obs"].tolist() == [[1000, 0], [1001, 1], [1002, 2]]
    assert sum(log.nbytes for log in journal._logs[1].values()) <= 2 * 1024 * ROWS["obs"][:2].nbytes


def test_what_is_dumped_is_loaded():
    journal, other = Journal(ROWS, GROUPS), Journal(ROWS, GROUPS)
    told(other, 300)  # longer than what is loaded over it
    told(journal, 70)
    journal.finish(1, np.array([1]), np.array([2]))
    other.load(journal.dump())
    assert other.episode.tolist() == journal.episode.tolist()
    assert other.length.tolist() == [0, 0, 0, 70]
    assert np.array_equal(other.actions(3)["obs"], journal.actions(3)["obs"])
    told(other, 100)
    assert other.actions(3)["obs"][:70].tolist() == journal.actions(3)["obs"].tolist()


def test_a_dump_of_another_pool_is_refused():
    journal = Journal(ROWS, GROUPS)
    with pytest.raises(PoolError, match="holds 2 slots, this pool has 4"):
        journal.load(Journal(ROWS, [np.arange(2)]).dump())
    with pytest.raises(PoolError, match=r"no actions for obs.*another env"):
        journal.load(Journal({"other": ROWS["obs"]}, GROUPS).dump())


@pytest.fixture
def groups():
    space = spaces.Dict({"obs": spaces.Discrete(3), "pair": spaces.Tuple((spaces.MultiBinary(2), spaces.Discrete(2)))})
    slab = Slab.create(plan_layout(spaces.Discrete(2), space, (), 5, 1))
    yield GroupedRows(slab, 5, 2, space)
    slab.close()


def batch(n):
    return {"obs": np.arange(n), "pair": (np.ones((n, 2)), np.zeros(n))}


def test_slot_i_belongs_to_group_i_modulo_n_groups(groups):
    assert [slots.tolist() for slots in groups.slots] == [[0, 2, 4], [1, 3]]
    groups.slab.arrays["reward"][:] = range(5)
    assert groups.rows(1).reward.tolist() == [1, 3]


def test_actions_of_a_tree_reach_their_rows_and_the_journal(groups):
    groups.note_actions(batch(3), 0)
    assert groups.slab.arrays["action:obs"][[0, 2, 4]].tolist() == [0, 1, 2]
    assert groups.slab.arrays["action:pair/0"][4].tolist() == [1, 1]
    assert groups.journal.actions(4)["obs"].tolist() == [2]
    assert groups.journal.length.tolist() == [1, 0, 1, 0, 1]


def test_an_action_without_one_of_its_parts_is_refused(groups):
    with pytest.raises(KeyError):
        groups.note_actions({"obs": np.arange(3)}, 0)
    assert not groups.under_way[0]


def test_send_and_recv_take_turns(groups):
    with pytest.raises(PoolError, match="no step of group 0 is under way"):
        groups.expect(0)
    groups.note_actions(batch(3), 0)
    groups.expect(0)
    with pytest.raises(PoolError, match="group 0 was sent actions already"):
        groups.note_actions(batch(3), 0)
    groups.slab.arrays["terminated"][:] = groups.slab.arrays["truncated"][:] = 0
    groups.slab.arrays["truncated"][2] = 1
    groups.slab.arrays["episode"][:] = 7
    assert groups.finish(0).truncated.tolist() == [False, True, False]
    assert groups.journal.episode.tolist() == [0, 0, 7, 0, 0]
    assert groups.journal.length.tolist() == [1, 0, 0, 0, 1]
    assert groups.under_way == [False, False]


def test_an_episode_that_was_skipped_takes_no_actions_along(groups):
    groups.note_actions(batch(3), 0)
    groups.slab.arrays["episode"][:] = [0, 0, 1, 0, 0]
    groups.note_starts()
    assert groups.journal.length.tolist() == [1, 0, 0, 0, 1]


@pytest.mark.parametrize(("n_envs", "n_groups"), [(0, 1), (4, 0), (4, 5)])
def test_counts_that_make_no_pool_are_refused(n_envs, n_groups):
    with pytest.raises(SettingsError, match="wanted 1"):
        check_counts(n_envs, n_groups)


def test_every_episode_of_every_slot_has_its_own_seed():
    seeds = {episode_seed(run, slot, episode) for run in range(4) for slot in range(40) for episode in range(40)}
    assert len(seeds) == 4 * 40 * 40
    assert all(0 <= seed < 1 << 31 for seed in seeds)
    assert episode_seed(1, 2, 3) == 1911094848  # resumed runs rely on it
