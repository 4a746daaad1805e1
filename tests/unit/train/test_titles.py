"""A title's recommendation and its example file say the same, so that both ways train alike."""

from pathlib import Path

import pytest

from parcade.config.file import read_config
from parcade.game.titles import find_title

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.mark.parametrize("name", ["lantern", "pokemon-red", "pokemon-emerald", "links-awakening"])
def test_the_example_file_repeats_the_recommendation(name):
    written = read_config(CONFIGS / f"{name}.yaml")
    assert {key: written[key] for key in find_title(name).training} == dict(find_title(name).training)


@pytest.mark.parametrize("name", ["pokemon-red", "pokemon-emerald", "links-awakening"])
def test_titles_with_long_episodes_are_evaluated_briefly(name):
    training = find_title(name).training
    assert training["final_eval_episodes"] <= 5
    assert training["eval_freq"] == 0
