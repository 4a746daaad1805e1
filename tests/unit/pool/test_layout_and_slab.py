import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from parcade.errors import EnvError, PoolError
from parcade.pool import slab as slab_module
from parcade.pool.layout import ALIGNMENT, POISON, plan_layout
from parcade.pool.sharing import share_slots
from parcade.pool.slab import Slab, sweep_stale

PICTURE = spaces.Box(0, 255, (3, 5), np.uint8)
TREE = spaces.Dict({"a": PICTURE, "b": spaces.Tuple((spaces.Discrete(4), spaces.Box(0, 1, (2,), np.float32)))})


def layout(n_slots=7, n_workers=2):
    return plan_layout(TREE, spaces.MultiDiscrete([3, 4]), ("success",), n_slots, n_workers)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(slab_module, "_folder", lambda: tmp_path)
    return tmp_path


def test_every_field_has_a_row_per_slot_on_its_own_cache_lines():
    plan = layout()
    end = 0
    for place in plan.places:
        assert place.offset % ALIGNMENT == 0
        assert place.offset >= end
        end = place.offset + int(np.prod(place.shape)) * np.dtype(place.dtype).itemsize
        assert place.shape[0] == (2 if place.name in ("beats", "current_slot") else 7)
    assert plan.size >= end


def test_each_leaf_of_the_spaces_is_an_array_of_its_own():
    shapes = {place.name: (place.shape, place.dtype) for place in layout().places}
    assert shapes["obs:a"] == ((7, 3, 5), "|u1")
    assert shapes["final:b/0"] == ((7,), "<i8")
    assert shapes["obs:b/1"] == ((7, 2), "<f4")
    assert shapes["action:obs"] == ((7, 2), "<i8")
    assert shapes["metrics"] == ((7, 1), "<f4")


def test_a_space_without_a_fixed_size_is_refused_by_name():
    with pytest.raises(EnvError, match=r"Text spaces cannot be shared.*use Box"):
        plan_layout(spaces.Text(5), spaces.Discrete(2), (), 1, 1)


@pytest.mark.parametrize(("n_envs", "n_workers"), [(5, 2), (8, 8), (7, 3), (1, 1), (64, 6)])
def test_slots_are_shared_out_evenly_and_in_order(n_envs, n_workers):
    shares = share_slots(n_envs, n_workers)
    assert [slot for share in shares for slot in share] == list(range(n_envs))
    sizes = {len(share) for share in shares}
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


def test_a_fresh_slab_is_poisoned(folder):
    slab = Slab.create(layout())
    assert (slab.arrays["obs:a"] == POISON).all()
    assert np.isnan(slab.arrays["obs:b/1"]).all()
    assert np.isnan(slab.arrays["reward"]).all()
    assert (slab.arrays["truncated"] == POISON).all()
    assert (slab.arrays["steps_done"] == 0).all()
    slab.close()


def test_what_one_maps_the_other_sees(folder):
    made = Slab.create(layout())
    other = Slab.attach(made.path, made.layout)
    other.arrays["obs:a"][3] = 9
    assert (made.arrays["obs:a"][3] == 9).all()
    other.close()
    assert made.path.exists()
    made.close()
    assert not made.path.exists()
    made.close()


def test_a_forgotten_slab_is_removed(folder):
    path = Slab.create(layout()).path
    assert not path.exists()


def test_a_slab_that_does_not_fit_says_so(folder):
    with pytest.raises(PoolError, match=r"shared block of \d+ MiB cannot be made.*fewer envs"):
        Slab.create(replace(layout(), size=1 << 60))
    assert list(folder.iterdir()) == []


def stale(folder: Path, pid: int, started: str) -> Path:
    path = folder / f"parcade-{pid}-{started}-cafe.slab"
    path.touch()
    return path


def ended_process() -> int:
    return int(subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True).stdout)


def test_slabs_of_ended_processes_are_swept(folder):
    path = stale(folder, ended_process(), "1")
    assert sweep_stale() == [path]
    assert not path.exists()


def test_a_later_process_with_the_same_pid_does_not_keep_a_slab(folder):
    path = stale(folder, os.getpid(), "1")  # this process began at another time
    assert sweep_stale() == [path]


def test_a_process_nobody_waited_for_counts_as_ended(folder):
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    started = slab_module._stat(child.pid)[1]
    child.stdout.read()  # until it has ended; it stays a zombie
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    path = stale(folder, child.pid, started)
    assert sweep_stale() == [path]
    child.wait()
    child.stdout.close()


def test_slabs_of_living_processes_and_other_files_stay(folder):
    mine = Slab.create(layout())
    other = folder / "parcade-notes.slab"
    other.touch()
    init = stale(folder, 1, slab_module._stat(1)[1])
    assert sweep_stale() == []
    assert mine.path.exists()
    assert init.exists()
    mine.close()


def test_a_stale_slab_of_another_user_is_left_alone(folder, monkeypatch):
    path = stale(folder, ended_process(), "1")

    def refuse(self, missing_ok=False):
        raise PermissionError(1, "not yours")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert sweep_stale() == []
    assert path.exists()
