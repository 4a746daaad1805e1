"""The map of a run that is over: its places are in the folder, its pictures come from the kept episodes."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from pool_support import until

from parcade.api import resume, train
from parcade.pool.showing import PLACE_EVERY
from parcade.run.places import load_places
from parcade.view.page.maps import Atlas
from parcade.view.page.retold_maps import RetoldMaps, chosen_episodes

N_STEPS = 40
NOTED = len(range(0, N_STEPS, PLACE_EVERY))  # places of a game in a rollout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {"n_envs": 2, "n_workers": 0, "n_steps": N_STEPS, "batch_size": 40, "max_steps": 60}
    quiet = {"final_eval_episodes": 0, "eval_freq": 0, "video": False, "log_root": str(tmp_path_factory.mktemp("runs"))}
    return Path(train(game="meadow", total_timesteps=400, **settings, **quiet).run_dir)


def test_a_training_leaves_where_its_games_were(run):
    places = load_places(run)
    assert places.pictures == "drawn"
    assert places.grids["home"].total == sum(places.ends) == 2 * (200 // N_STEPS) * NOTED
    assert all(place is not None and place[0] == "home" for place in places.now)


def test_a_resumed_training_goes_on_counting(run):
    before = load_places(run)
    resume(str(run), total_timesteps=800)
    after = load_places(run)
    assert after.life != before.life
    assert after.ends == before.ends  # of the second life: as many again
    assert sum(grid.total for grid in after.grids.values()) == 2 * before.grids["home"].total


def test_maps_are_put_together_from_kept_episodes(run, tmp_path):
    maps = RetoldMaps()
    until(lambda: maps.of(run).picture("home") is not None, 60, "the house")
    left, top, pixels = maps.of(run).picture("home")
    whole = cv2.imdecode(np.frombuffer(Atlas().png("meadow", None, "home"), np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    part = whole[top : top + len(pixels), left : left + pixels.shape[1]]
    assert part.shape[:2] == pixels.shape[:2]
    assert (pixels[..., :3] == part).all(axis=2).mean() > 0.9  # people stand on it
    assert chosen_episodes(tmp_path) == []
