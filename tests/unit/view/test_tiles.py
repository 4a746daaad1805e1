"""What the policy sees, made visible."""

import numpy as np

from parcade.env.picture_file import PictureWriter, Shown
from parcade.view.tiles import BORDER, Gallery, bars, frames_side_by_side, policys_view


def shown(seen, raw=None, channels=1):
    return Shown("", 3, 1.5, raw, "", seen, channels)


def test_a_stack_is_laid_out_oldest_first():
    stack = np.stack([np.full((2, 3), value, np.uint8) for value in (10, 20, 30)])
    picture = frames_side_by_side(stack, channels=1)
    assert picture.shape == (4 + BORDER, 6 + BORDER, 3)
    below, beside = slice(2 + BORDER, None), slice(3 + BORDER, None)
    assert (picture[:2, :3] == 10).all()
    assert (picture[:2, beside] == 20).all()
    assert (picture[below, :3] == 30).all()
    assert (picture[below, beside] == 0).all()


def test_a_line_stands_between_frames_in_a_colour_that_no_grey_frame_has():
    picture = frames_side_by_side(np.zeros((4, 2, 3), np.uint8), channels=1)
    across, down = picture[2 : 2 + BORDER], picture[:, 3 : 3 + BORDER]
    assert len(np.unique(np.concatenate([across.reshape(-1, 3), down.reshape(-1, 3)]), axis=0)) == 1
    assert len(set(picture[2, 0].tolist())) == 3


def test_colours_stay_colours():
    stack = np.zeros((6, 2, 2), np.uint8)
    stack[0], stack[4] = 200, 100  # the first frame red, the second green
    picture = frames_side_by_side(stack, channels=3)
    assert picture.shape == (2, 4 + BORDER, 3)
    assert picture[0, 0].tolist() == [200, 0, 0]
    assert picture[0, 2 + BORDER].tolist() == [0, 100, 0]


def test_numbers_become_bars_up_and_down():
    picture = bars(np.array([1.0, -0.5, 0.0, np.nan, np.inf])).astype(int)
    middle = len(picture) // 2
    width = picture.shape[1] // 5
    lit = [(picture[:, i * width] != picture[0, 2 * width]).any(axis=1) for i in range(5)]
    assert lit[0][:middle].sum() == middle - 1
    assert lit[0][middle + 1 :].sum() == 0
    assert abs(lit[1][middle + 1 :].sum() - (middle - 1) / 2) <= 1
    assert lit[1][:middle].sum() == 0
    assert lit[3][:middle].sum() == 0
    assert lit[4][:middle].sum() == middle - 1


def test_pictures_and_numbers_stand_side_by_side():
    view = policys_view(shown({"pixels": np.full((1, 120, 80), 7, np.uint8), "features": np.ones(12, np.float32)}))
    assert view.shape == (120, 80 + BORDER + 12 * 8, 3)
    assert (view[:, :80] == 7).all()


def test_a_gallery_gives_what_is_new_and_finds_late_comers(tmp_path):
    gallery = Gallery(tmp_path)
    assert gallery.news() == {}
    first = PictureWriter(str(tmp_path), "game", 0)
    first.write(shown({"obs": np.arange(4, dtype=np.float32)}, raw=np.full((2, 3, 3), 9, np.uint8)))
    (name, got), *others = gallery.news().items()
    assert not others
    assert (name, got.label, got.step, got.total_reward) == ("game-00000.picture", "game 0", 3, 1.5)
    assert (got.raw == 9).all()
    assert got.seen["obs"].tolist() == [0, 1, 2, 3]
    assert gallery.news() == {}
    second = PictureWriter(str(tmp_path), "game", 1)
    second.write(shown({"obs": np.zeros(1, np.float32)}))
    assert [got.label for got in gallery.news().values()] == ["game 1"]
    for thing in (first, second, gallery):
        thing.close()
