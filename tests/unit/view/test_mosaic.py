"""Every game has its place in the window."""

import itertools

import pytest

from parcade.view.mosaic import CAPTION, GAP, MOST_BY_ITSELF, plan

ROOM = (1200, 800)


@pytest.mark.parametrize("n_tiles", [1, 2, 3, 5, 8, 32, 64, 200])
@pytest.mark.parametrize("content", [(160.0, 144.0), (1000.0, 400.0), (80.0, 500.0)])
def test_all_tiles_fit_and_none_overlap(n_tiles, content):
    mosaic = plan(n_tiles, content, ROOM)
    assert mosaic.window[0] <= ROOM[0] + 4 * mosaic.columns  # rounding to whole pixels
    assert mosaic.window[1] <= ROOM[1] + 4 * n_tiles
    corners = [mosaic.corner(index) for index in range(n_tiles)]
    assert len(set(corners)) == n_tiles
    for left, top in corners:
        assert left + mosaic.tile[0] + GAP <= mosaic.window[0]
        assert top + mosaic.tile[1] + GAP <= mosaic.window[1]
    same_row = [left for left, top in corners if top == corners[0][1]]
    assert all(b - a >= mosaic.tile[0] for a, b in itertools.pairwise(same_row))


def test_pictures_are_enlarged_by_whole_numbers_as_far_as_they_fit():
    assert plan(1, (160, 144), ROOM).scale == MOST_BY_ITSELF
    assert plan(1, (500, 300), ROOM).scale == 2
    assert plan(4, (160, 144), ROOM).scale == 2


def test_a_scale_that_is_asked_for_is_kept_where_it_fits():
    one = plan(1, (160, 144), ROOM, wanted=2)
    assert one.scale == 2
    assert one.tile == (320, 288 + CAPTION)
    assert plan(1, (50, 50), ROOM, wanted=9).scale == 9
    assert plan(16, (160, 144), ROOM, wanted=9).scale < 9


def test_large_pictures_are_shrunk():
    assert 0 < plan(32, (1000, 400), ROOM).scale < 1
