import numpy as np
import pytest
from gymnasium import spaces

from parcade.errors import EnvError, PoolError, SettingsError
from parcade.pool.actor import ActorShape
from parcade.pool.block import Block, EnvShape, block_fields, status_fields
from parcade.pool.journal import Journal
from parcade.pool.mapped import MappedArrays, plan_layout
from parcade.pool.progress import Progress, check_counts
from parcade.pool.seeding import NumberedEpisodes, episode_seed
from parcade.pool.sharing import share_slots, tile_leaders, tiles

ROWS = {"obs": np.zeros((1, 4, 2), np.int64)}
GROUPS = [np.array([0, 2]), np.array([1, 3])]


def told(journal, steps, group=1, ends=(), episode=0):
    """Note steps of a group in one go; ``ends`` are slots whose episode ends with the last of them."""
    slots = GROUPS[group]
    actions = np.array([[[slot * 1000 + step, step] for slot in slots] for step in range(steps)])
    ended = np.zeros((steps, len(slots)), bool)
    ended[-1] = np.isin(slots, ends)
    episodes = np.where(np.isin(slots, ends), episode, journal.episode[slots])
    journal.append(group, {"obs": actions}, ended, np.tile(episodes, (steps, 1)))


def test_actions_come_back_in_order_however_many_they_are():
    journal = Journal(ROWS, GROUPS)
    told(journal, 200)
    assert journal.length.tolist() == [0, 200, 0, 200]
    assert journal.actions(3)["obs"].tolist() == [[3000 + step, step] for step in range(200)]
    assert journal.actions(0)["obs"].shape == (0, 2)


def test_an_ended_episode_leaves_no_actions_behind():
    journal = Journal(ROWS, GROUPS)
    told(journal, 5, ends=[3], episode=8)
    assert (journal.episode[3], journal.length[3]) == (8, 0)
    assert journal.length[1] == 5
    told(journal, 1)
    assert journal.actions(3)["obs"].tolist() == [[3000, 0]]


def test_of_several_ends_in_a_fragment_the_last_counts():
    journal = Journal(ROWS, GROUPS)
    ended = np.array([[True, False], [False, False], [True, False], [False, False]])
    episodes = np.array([[1, 0], [1, 0], [2, 0], [2, 0]])
    journal.append(1, {"obs": np.arange(16).reshape(4, 2, 2)}, ended, episodes)
    assert (journal.episode[1], journal.length[1]) == (2, 1)
    assert journal.actions(1)["obs"].tolist() == [[12, 13]]
    assert journal.length[3] == 4


def test_a_log_is_emptied_of_ended_episodes_before_it_grows():
    journal = Journal(ROWS, GROUPS)
    for episode in range(50):  # slot 1's episodes are short, slot 3's never end
        told(journal, 10, ends=[1], episode=episode + 1)
    assert journal.length.tolist() == [0, 0, 0, 500]
    assert journal.actions(3)["obs"][:, 1].tolist() == list(range(10)) * 50
    for _ in range(300):
        told(journal, 9, ends=[1, 3], episode=1)
    told(journal, 3)
    assert journal.actions(1)["obs"].tolist() == [[1000, 0], [1001, 1], [1002, 2]]
    assert sum(log.nbytes for log in journal._logs[1].values()) <= 4 * 1024 * ROWS["obs"][:, :2].nbytes


def test_what_is_dumped_is_loaded():
    journal, other = Journal(ROWS, GROUPS), Journal(ROWS, GROUPS)
    told(other, 300)  # longer than what is loaded over it
    told(journal, 70, ends=[1], episode=2)
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


SPACE = spaces.Dict({"obs": spaces.Discrete(3), "pair": spaces.Tuple((spaces.MultiBinary(2), spaces.Discrete(2)))})
T = 3


@pytest.fixture
def progress():
    """Five slots in two groups, one worker, blocks of three steps."""
    files = [MappedArrays.create(plan_layout(status_fields(5, 1)))]
    found = Progress(files[0], [range(5)], 2, SPACE)
    shape = EnvShape(spaces.Box(-np.inf, np.inf, (2,), np.float64), SPACE, ())
    for _ in range(2):
        files.append(MappedArrays.create(plan_layout(block_fields(shape, 5, T, ActorShape(state_size=1)))))
    found.use([Block(file, ()) for file in files[1:]])
    for block in found.blocks:
        for array in block.obs.values():
            array[:] = 0
    found.note_starts()
    yield found
    for file in files:
        file.close()


def batch(n):
    return {"obs": np.arange(n), "pair": (np.ones((n, 2), int), np.zeros(n, int))}


def send(progress, group=0):
    fragment = progress.begin(group, 1, has_actor=False)
    progress.write_actions(fragment, batch(len(progress.slots[group])))
    return fragment


def done(progress, group=0, ended=()):
    """Write what the workers would, and finish the step."""
    fragment, part = progress.under_way[group], progress.parts[group]
    block = progress.blocks[fragment.block]
    block.terminated[fragment.first, part] = np.isin(progress.slots[group], ended)
    block.truncated[fragment.first, part] = False
    block.episode[fragment.first, part] = progress.journal.episode[part] + np.isin(progress.slots[group], ended)
    progress.status["taken"][part] = fragment.stop
    progress.finish(group)


def test_slot_i_belongs_to_group_i_modulo_n_groups(progress):
    assert [slots.tolist() for slots in progress.slots] == [[0, 2, 4], [1, 3]]


def test_actions_of_a_tree_reach_their_rows_and_the_journal(progress):
    send(progress)
    arrays = progress.present.mapped.arrays
    assert arrays["action:obs"][0, [0, 2, 4]].tolist() == [0, 1, 2]
    assert arrays["action:pair/0"][0, 4].tolist() == [1, 1]
    done(progress)
    assert progress.journal.actions(4)["obs"].tolist() == [2]
    assert progress.journal.length.tolist() == [1, 0, 1, 0, 1]


def test_an_action_without_one_of_its_parts_is_refused(progress):
    fragment = progress.begin(0, 1, has_actor=False)
    with pytest.raises(SettingsError, match="the actions of group 0 are 'pair'"):
        progress.write_actions(fragment, {"obs": np.arange(3)})
    assert progress.under_way == [None, None]


def test_send_and_recv_take_turns(progress):
    with pytest.raises(PoolError, match="no step of group 0 is under way"):
        progress.fragment(0)
    send(progress)
    progress.fragment(0)
    with pytest.raises(PoolError, match="steps of group 0 are under way"):
        send(progress)
    done(progress, ended=[2])
    assert progress.step_rows(0).terminated.tolist() == [False, True, False]
    assert progress.journal.episode.tolist() == [0, 0, 1, 0, 0]
    assert progress.journal.length.tolist() == [1, 0, 0, 0, 1]


def test_rows_fill_the_block_and_begin_again_with_what_was_seen_last(progress):
    for step in range(T):
        assert send(progress).first == step
        progress.present.obs["obs"][step + 1, 0::2] = step + 1
        done(progress)
    assert send(progress).first == 0
    assert progress.present.obs["obs"][0, :, 0].tolist() == [3, 0, 3, 0, 3]


def test_memory_is_carried_over_and_forgotten_at_the_start_of_an_episode(progress):
    for _ in range(T):
        send(progress)
        done(progress)
    progress.present.memory[T] = 5
    progress.status["running_length"][:] = [3, 0, 0, 0, 3]
    assert progress.memory()[[0, 2, 4], 0].tolist() == [5, 0, 5]
    send(progress)
    assert progress.present.memory[0, 0::2, 0].tolist() == [5, 0, 5]


def test_another_block_begins_with_what_was_seen_last(progress):
    progress.present.obs["obs"][0] = 4
    fragment = progress.begin(0, T, has_actor=True, block=1)
    assert (fragment.block, fragment.first, fragment.stop) == (1, 0, T)
    assert (progress.blocks[1].obs["obs"][0, 0::2] == 4).all()


def place(progress, slot):
    found = progress.place(slot)
    return found.episode, found.actions["obs"].tolist(), progress.row(slot)


def test_a_slot_stands_behind_the_last_step_its_worker_has_finished(progress):
    send(progress)
    done(progress)
    send(progress)
    assert place(progress, 2) == (0, [1], (1, 0))
    progress.status["taken"][0] = 2  # finished, and nobody has looked yet
    assert place(progress, 2) == (0, [1, 1], (2, 0))
    assert place(progress, 1) == (0, [], (0, 0))


def test_in_a_long_fragment_an_end_is_where_the_next_episode_begins(progress):
    progress.begin(0, T, has_actor=True)
    block = progress.present
    block.mapped.arrays["action:obs"][:, 2] = [0, 1, 2]
    block.truncated[0, 2], block.episode[:, 2] = True, 6
    progress.status["taken"][0] = 2
    assert place(progress, 2) == (6, [1], (2, 0))
    assert progress.newly_taken(range(5)) == 2
    assert progress.newly_taken(range(5)) == 0
    assert progress.taken() == 6


def test_an_episode_nobody_has_seen_may_be_skipped(progress):
    progress.begin(0, T, has_actor=True)
    block = progress.present
    block.terminated[1, 2], block.episode[:, 2] = True, 1
    progress.status["taken"][0] = 2
    assert not progress.place(2).was_seen
    assert progress.place(4).was_seen


def test_an_episode_that_was_skipped_takes_no_actions_along(progress):
    send(progress)
    done(progress)
    progress.status["episode"][:] = [0, 0, 1, 0, 0]
    progress.note_starts()
    assert progress.journal.length.tolist() == [1, 0, 0, 0, 1]


def test_last_observations_are_kept_one_behind_the_other(progress):
    block = progress.present
    for t, value in ((0, 7.0), (2, 9.0)):
        block.obs["obs"][t + 1, 3] = value
        block.keep_final(t, 3)
        block.terminated[t, 3] = True
    assert block.final_of(0, 3)["obs"].tolist() == [7, 7]
    assert block.final_of(2, 3)["obs"].tolist() == [9, 9]


def test_each_leaf_of_the_spaces_is_an_array_of_its_own():
    tree = spaces.Dict({"a": spaces.Box(0, 255, (3, 5), np.uint8), "b": spaces.Tuple((spaces.Discrete(4),))})
    fields = block_fields(EnvShape(tree, spaces.MultiDiscrete([3, 4]), ("success",)), 7, 6, ActorShape())
    shapes = {field.name: (field.shape, field.dtype) for field in fields}
    assert shapes["obs:a"] == ((7, 7, 3, 5), "|u1")
    assert shapes["final:b/0"] == ((6, 7), "<i8")
    assert shapes["action:obs"] == ((6, 7, 2), "<i8")
    assert shapes["metrics"] == ((6, 7, 1), "<f4")


def test_a_space_without_a_fixed_size_is_refused_by_name():
    with pytest.raises(EnvError, match=r"Text spaces cannot be shared.*use Box"):
        block_fields(EnvShape(spaces.Text(5), spaces.Discrete(2), ()), 1, 1, ActorShape())


@pytest.mark.parametrize(("n_envs", "n_workers"), [(5, 2), (8, 8), (7, 3), (1, 1), (64, 6)])
def test_slots_are_shared_out_evenly_and_in_order(n_envs, n_workers):
    shares = share_slots(n_envs, n_workers)
    assert [slot for share in shares for slot in share] == list(range(n_envs))
    sizes = {len(share) for share in shares}
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


@pytest.mark.parametrize("size", [8, 1, 5])
@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_tiles_hold_every_slot_once_and_belong_to_one_worker_and_group(n_groups, size):
    shares = share_slots(50, 3)
    found = [tile for slots in shares for group in range(n_groups) for tile in tiles(slots, group, n_groups, size)]
    assert sorted(slot for tile in found for slot in tile) == list(range(50))
    leaders = tile_leaders(shares, n_groups, size)
    for tile in found:
        assert 1 <= len(tile) <= size
        assert {slot % n_groups for slot in tile} == {tile.start % n_groups}
        assert set(leaders[list(tile)]) == {tile.start}


def test_numbered_episodes_are_dealt_out_in_turn_and_end():
    episodes = NumberedEpisodes(first_seed=50, n_slots=3, n_episodes=7)
    seeds = [episodes.seed(slot, episode) for episode in range(3) for slot in range(3)]
    assert seeds == [50, 51, 52, 53, 54, 55, 56, None, None]


@pytest.mark.parametrize(("n_envs", "n_groups"), [(0, 1), (4, 0), (4, 5)])
def test_counts_that_make_no_pool_are_refused(n_envs, n_groups):
    with pytest.raises(SettingsError, match="wanted 1"):
        check_counts(n_envs, n_groups)


def test_every_episode_of_every_slot_has_its_own_seed():
    seeds = {episode_seed(run, slot, episode) for run in range(4) for slot in range(40) for episode in range(40)}
    assert len(seeds) == 4 * 40 * 40
    assert all(0 <= seed < 1 << 31 for seed in seeds)
    assert episode_seed(1, 2, 3) == 1911094848  # resumed runs rely on it
