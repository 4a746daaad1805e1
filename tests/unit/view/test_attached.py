"""A training as viewers find it through live.json: what they read, and what they take for no training."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from parcade.api import make_pool
from parcade.config.settings import make_settings
from parcade.env.picture_file import TRAINING
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import RunError
from parcade.pool.mapped import is_held, layout_from_json
from parcade.run.directory import RunFolder
from parcade.run.live import NAME
from parcade.run.lock import held
from parcade.train import events
from parcade.train.live import Live
from parcade.view.attached import attach
from parcade.view.training_gallery import TrainingGallery


@pytest.fixture
def shown(tmp_path):
    """A pool that is told of in a run's folder, without the training around it."""
    spec = EnvSpec(game="lantern", observation="both")
    settings = make_settings({"game": "lantern", "observation": "both", "n_envs": 3, "n_steps": 4, "batch_size": 4})
    folder = RunFolder.create(str(tmp_path), "run")
    window = tmp_path / "window"
    window.mkdir()
    algorithm = SimpleNamespace(values=np.arange(15, dtype=np.float32).reshape(5, 3))
    with make_pool(spec, 3, n_workers=0, seed=1) as pool:
        pool.make_room(4)
        pool.reset()
        live = Live(folder, None, Watch(str(window)))
        live.open(pool, spec, settings, algorithm)
        yield SimpleNamespace(run=folder.path, pool=pool, live=live, window=window)
        live.close()


def step(pool, steps=1):
    for _ in range(steps):
        pool.send(np.full(3, 4))
        pool.recv()


def test_a_viewer_reads_what_the_training_writes(shown):
    viewer = attach(shown.run)
    assert viewer.is_alive()
    assert viewer.n_envs == 3
    assert viewer.phase == "opening"
    step(shown.pool, 2)
    assert viewer.status["running_length"].tolist() == [2, 2, 2]
    assert (viewer.blocks[0].action["obs"][0] == 4).all()
    shown.live.learning()
    assert viewer.phase == "learning"
    viewer.showcase.ask([0])
    shown.live.tell(events.Updated({"env_steps": 24}))
    assert viewer.phase == "playing"
    assert viewer.told["env_steps"][0] == 24
    assert viewer.told["values"].tolist() == np.arange(12).reshape(4, 3).tolist()
    viewer.close()


def test_a_training_that_is_over_is_none(shown):
    viewer = attach(shown.run)
    shown.live.close()
    assert not viewer.is_alive()
    assert not (shown.run / NAME).exists()
    assert attach(shown.run) is None
    viewer.close()


def test_a_stale_file_is_none(shown, tmp_path):
    text = (shown.run / NAME).read_text()
    shown.live.close()
    (shown.run / NAME).write_text(text)
    assert attach(shown.run) is None


def test_a_vanished_file_of_a_training_that_goes_on_is_told(shown):
    path = json.loads((shown.run / NAME).read_text())["blocks"][0]["path"]
    os.unlink(path)
    assert attach(shown.run) is None  # nobody holds the run: it was killed
    with (
        held(shown.run / "logs" / "lock"),
        pytest.raises(RunError, match=f"cannot be watched: its shared file {path} has vanished"),
    ):
        attach(shown.run)


@pytest.mark.parametrize("change", [{"version": 99}, {"n_envs": 7}, {"status": {}}, {"blocks": 5}, {"told": None}])
def test_what_this_version_cannot_read_is_told_in_one_sentence(shown, change):
    data = json.loads((shown.run / NAME).read_text()) | change
    (shown.run / NAME).write_text(json.dumps(data))
    with pytest.raises(RunError, match=r"the training in .* cannot be watched: "):
        attach(shown.run)


def test_a_damaged_file_is_told(shown):
    (shown.run / NAME).write_text("{")
    with pytest.raises(RunError, match="is damaged"):
        attach(shown.run)


def test_only_shared_files_of_pools_are_looked_at(tmp_path, shown):
    secret = tmp_path / "parcade-1-abc.block"
    secret.write_bytes(b"x" * 4096)
    path = shown.pool.showcase.mapped.path
    link = path.with_name("parcade-0-link.block")
    os.symlink(path, link)
    try:
        assert is_held(path)
        assert not is_held(link)
        assert not is_held(secret)
        assert not is_held("/etc/passwd")
        assert not is_held(f"{path.parent}/../shm/{path.name}")
    finally:
        link.unlink()


@pytest.mark.parametrize(
    "data", [None, [["a", [1], "O", False]], [["a", [-1], "<f4", False]], [["a", 3]], [["a", [1], "x", 0]]]
)
def test_layouts_that_are_none(data):
    with pytest.raises(ValueError, match="layout of a shared file"):
        layout_from_json(data)


def test_a_window_shows_the_training_and_draws_only_then(shown):
    gallery = TrainingGallery(shown.window)
    assert json.loads((shown.window / TRAINING).read_text())["run"] == str(shown.run)
    assert gallery.news() == {}
    step(shown.pool)
    (first, *others) = gallery.news().values()
    assert len(others) == 2
    assert first.label == "game 0"
    assert first.action == "right"
    assert first.raw.shape == (144, 160, 3)
    assert len(np.unique(first.raw)) > 2
    assert set(first.seen) == {"features", "pixels"}
    assert (first.seen["pixels"] == shown.pool.block.obs["pixels"][1, 0]).all()
    gallery.close()
    counts = shown.pool.showcase.arrays["count"].copy()
    step(shown.pool, 3)
    assert (shown.pool.showcase.arrays["count"] <= counts + 2).all()


def test_a_window_without_pictures_has_nothing_drawn(shown):
    told = json.loads((shown.window / TRAINING).read_text()) | {"raw": False}
    (shown.window / TRAINING).write_text(json.dumps(told))
    gallery = TrainingGallery(shown.window)
    gallery.news()
    step(shown.pool)
    found = gallery.news()
    assert len(found) == 3
    assert all(one.raw is None and set(one.seen) == {"features", "pixels"} for one in found.values())
    assert not shown.pool.showcase.arrays["count"].any()
    gallery.close()
