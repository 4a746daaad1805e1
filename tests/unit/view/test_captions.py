"""What stands above a game fits its tile."""

from dataclasses import replace

import numpy as np
import pytest

from parcade.env.pace import Wish
from parcade.env.picture_file import Shown
from parcade.view.captions import captions, fitting, form_for_all
from parcade.view.controls import FASTEST, SLOWEST, pressed, status

SHOWN = Shown("game 63", 1234, -12.34, None, "", {"obs": np.zeros(1)}, 1, "sword (a)")


def test_captions_get_shorter_and_all_name_the_game():
    texts = captions(SHOWN)
    assert texts[0] == "game 63   step 1,234   return -12.3   sword (a)"
    assert [len(text) for text in texts] == sorted((len(text) for text in texts), reverse=True)
    assert all("63" in text for text in texts)
    assert texts[-1] == "63"


@pytest.mark.parametrize("width", [1000, 300, 150, 80, 40])
def test_all_games_have_the_longest_form_that_fits_all_of_them(width):
    games = [SHOWN, replace(SHOWN, label="game 0", step=1, action="")]
    form = form_for_all(games, width, lambda text: 6 * len(text))
    texts = [captions(game) for game in games]
    assert all(6 * len(text[form]) <= width for text in texts)
    assert form == 0 or any(6 * len(text[form - 1]) > width for text in texts)


def test_where_nothing_fits_the_number_is_left():
    assert captions(SHOWN)[form_for_all([SHOWN], 1, len)] == "63"
    assert fitting(["paused (keys)", "paused"], 1, len) == "paused"


def test_a_form_is_never_longer_than_it_was():
    assert form_for_all([SHOWN], 1000, len, at_least=2) == 2


def test_keys_change_the_pace():
    wish = pressed(Wish(), "space")
    assert wish.paused
    assert not pressed(wish, "space").paused
    for _ in range(20):
        wish = pressed(wish, "-")
    assert wish.speed == SLOWEST
    for _ in range(20):
        wish = pressed(wish, "+")
    assert wish.speed == FASTEST
    assert pressed(wish, "q") == wish
    assert pressed(Wish(0.0), "+") == Wish(0.0)
    assert pressed(Wish(0.0), "-").speed == FASTEST
    assert status(pressed(Wish(), "n")) == "paused"
