"""The showcase alone: what one side lays down the other reads, whole or not at all."""

import json

import numpy as np
import pytest

from parcade.pool.showcase import DETAIL_ROOM, MOST_MAPS, PICTURE_ROOM, Showcase


@pytest.fixture
def showcase():
    made = Showcase.create(3, 2, has_places=True)
    yield made
    made.close()


@pytest.fixture
def viewer(showcase):
    attached = Showcase.attach(showcase.mapped.path, showcase.mapped.layout)
    yield attached
    attached.close()


def picture_of(value, height=4, width=6):
    return np.full((height, width, 4), value, np.uint8)


def test_a_picture_arrives_as_it_was_laid_down(showcase, viewer):
    showcase.lay_picture(1, picture_of(7), block=1, row=9)
    shown = viewer.picture(1, newer_than=0)
    assert (shown.pixels == 0x07070707).all()
    assert shown.pixels.shape == (4, 6)
    assert (shown.block, shown.row) == (1, 9)
    assert viewer.picture(1, newer_than=shown.number) is None
    assert viewer.picture(0, newer_than=0) is None


def test_slots_do_not_write_over_each_other(showcase, viewer):
    for slot in range(3):
        showcase.lay_picture(slot, picture_of(slot + 1, 512, 512), 0, 0)
    assert [viewer.picture(slot, 0).pixels[-1, -1] & 255 for slot in range(3)] == [1, 2, 3]


def test_a_picture_that_is_being_written_is_not_read(showcase, viewer):
    showcase.lay_picture(0, picture_of(1), 0, 0)
    showcase.arrays["count"][0] += 1  # a worker is at it, or died there
    assert viewer.picture(0, newer_than=0) is None
    showcase.lay_picture(0, picture_of(2), 0, 1)  # the next life of the worker
    assert viewer.picture(0, newer_than=0).row == 1


def test_a_picture_without_room_is_none(showcase, viewer):
    showcase.lay_picture(0, np.zeros((1, PICTURE_ROOM // 4 + 1, 4), np.uint8), 0, 0)
    assert viewer.picture(0, newer_than=0).pixels.size == 0


def test_details_are_whole_or_empty(showcase, viewer):
    showcase.lay_detail(2, json.dumps({"words": "ä"}).encode())
    number, text = viewer.detail(2, newer_than=0)
    assert json.loads(text) == {"words": "ä"}
    assert viewer.detail(2, newer_than=number) is None
    showcase.lay_detail(2, b"x" * (DETAIL_ROOM + 1))
    assert viewer.detail(2, newer_than=number)[1] == b"{}"


def test_asking_counts_up_and_rings(showcase, viewer):
    viewer.ask([0, 2], details=[2])
    viewer.ask([0])
    assert showcase.arrays["asked"].tolist() == [2, 0, 1]
    assert showcase.arrays["detail_asked"].tolist() == [0, 0, 1]
    assert showcase.arrays["n_requests"][0] == 2


def test_maps_have_numbers_until_there_is_no_room(showcase, viewer):
    assert [showcase.add_map(1, f"höhle {number}") for number in range(MOST_MAPS + 1)] == [*range(MOST_MAPS), -1]
    assert viewer.map_names(1)[511] == "höhle 511"
    assert viewer.map_names(0) == []


def test_a_showcase_without_places_has_no_trails():
    showcase = Showcase.create(2, 1, has_places=False)
    assert showcase.trail_length == 0
    assert len(showcase.trail(0).places) == 0
    showcase.close()
    assert not showcase.mapped.path.exists()
