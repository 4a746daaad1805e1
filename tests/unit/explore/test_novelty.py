"""What counts as new, by hand."""

import numpy as np
import pytest

from parcade.errors import ModelFileError
from parcade.explore.lineage import Segment
from parcade.explore.novelty import CountNovelty
from parcade.explore.picture_cells import picture_cells


def segment(slot=0, stop=6, ended=False):
    return Segment(slot, 0, 1, {"obs": np.zeros(0, np.int64)}, 0, stop, ended)


CELLS = [5, 5, 7, 5, 0, 9]  # 0: nowhere


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("episodic", [1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 1]),
        ("lifetime", [1, 0, 1, 2**-0.5, 0, 1], [3**-0.5, 0, 2**-0.5, 4**-0.5, 0, 2**-0.5]),
        ("both", [1, 0, 1, 0, 0, 1], [2**-0.5, 0, 2**-0.5, 0, 0, 2**-0.5]),
    ],
)
def test_bonuses_by_hand(kind, first, second):
    novelty = CountNovelty(kind, 1)
    assert novelty.bonuses(segment(ended=True), CELLS).tolist() == first
    assert novelty.bonuses(segment(), CELLS).tolist() == pytest.approx(second)


def test_an_episode_goes_on_over_the_end_of_a_rollout():
    novelty = CountNovelty("episodic", 2)
    assert novelty.bonuses(segment(1, 2), [5, 7]).tolist() == [1, 1]
    assert novelty.bonuses(segment(1, 3), [7, 5, 8]).tolist() == [0, 0, 1]
    assert novelty.bonuses(segment(0, 1), [5]).tolist() == [1]  # another slot has its own episode


def test_state_is_everything():
    one, other = CountNovelty("both", 2), CountNovelty("both", 2)
    one.bonuses(segment(1), CELLS)
    other.load_state(one.state())
    assert other.bonuses(segment(1), [7, 5, 11]).tolist() == one.bonuses(segment(1), [7, 5, 11]).tolist()
    assert {name: array.tobytes() for name, array in one.state().items()} == {
        name: array.tobytes() for name, array in other.state().items()
    }
    with pytest.raises(ModelFileError, match="2 slots, wanted 3"):
        CountNovelty("both", 3).load_state(one.state())
    with pytest.raises(ModelFileError, match="are inconsistent"):
        other.load_state({**one.state(), "seen": np.zeros(9, np.uint64)})


def test_pictures_of_one_place_share_a_cell_and_others_do_not():
    rng = np.random.default_rng(0)
    room = np.repeat(np.repeat(rng.integers(0, 256, (1, 1, 9, 10), np.uint8), 8, 2), 8, 3)
    speck, other = room.copy(), 255 - room
    speck[0, 0, 3, 3] ^= 1
    cells = picture_cells(np.concatenate([room, speck, other]))
    assert cells[0] == cells[1] != cells[2]
    stacked = np.concatenate([other, room], axis=1)  # the newest channel is looked at
    assert picture_cells(stacked)[0] == cells[0]
