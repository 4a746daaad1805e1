import fcntl
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parcade.errors import PoolError
from parcade.pool import mapped as mapped_module
from parcade.pool.mapped import ALIGNMENT, POISON, Field, MappedArrays, plan_layout, sweep_stale

FIELDS = (
    Field("final:a", (4, 300, 7), "|u1", sparse=True),
    Field("obs:a", (7, 3, 5), "|u1"),
    Field("obs:b", (7, 2), "<f4"),
    Field("beats", (2,), "<u8", fill=0),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_module, "_folder", lambda: tmp_path)
    return tmp_path


def test_every_field_has_its_own_cache_lines_and_sparse_ones_come_last():
    plan = plan_layout(FIELDS)
    end = 0
    for field, offset in zip(plan.fields, plan.offsets, strict=True):
        assert offset % ALIGNMENT == 0
        assert offset >= end
        end = offset + field.size
    assert plan.size >= end
    assert plan.fields[-1].name == "final:a"
    assert plan.dense_size == plan.offsets[-1]


def test_fresh_arrays_are_poisoned_and_counters_begin_where_they_should(folder):
    made = MappedArrays.create(plan_layout(FIELDS))
    assert (made.arrays["obs:a"] == POISON).all()
    assert np.isnan(made.arrays["obs:b"]).all()
    assert (made.arrays["beats"] == 0).all()
    made.close()


def test_what_one_maps_the_other_sees(folder):
    made = MappedArrays.create(plan_layout(FIELDS))
    other = MappedArrays.attach(made.path, made.layout)
    other.arrays["obs:a"][3] = 9
    assert (made.arrays["obs:a"][3] == 9).all()
    other.close()
    assert made.path.exists()
    made.close()
    assert not made.path.exists()
    made.close()


def test_a_sparse_array_takes_memory_only_for_the_rows_that_are_reserved(folder):
    made = MappedArrays.create(plan_layout([Field("final:a", (64, 1 << 20), "|u1", sparse=True)]))
    assert made.path.stat().st_blocks * 512 < 1 << 20
    made.reserve("final:a", 3)
    made.arrays["final:a"][3] = 1
    assert 1 << 20 <= made.path.stat().st_blocks * 512 < 3 << 20
    made.close()


def test_nobody_else_can_open_them_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        made = MappedArrays.create(plan_layout(FIELDS))
    finally:
        os.umask(before)
    assert made.path.stat().st_mode & 0o777 == 0o600
    made.close()


def test_forgotten_arrays_are_removed(folder):
    path = MappedArrays.create(plan_layout(FIELDS)).path
    assert not path.exists()


def test_what_does_not_fit_says_so(folder):
    with pytest.raises(PoolError, match=r"shared block of \d+ MiB cannot be made.*fewer envs"):
        MappedArrays.create(replace(plan_layout(FIELDS), dense_size=1 << 60, size=1 << 60))
    assert list(folder.iterdir()) == []


def test_files_of_a_killed_process_are_swept(folder):
    code = f"""
        import os
        from pathlib import Path
        from parcade.pool import mapped
        mapped._folder = lambda: Path({str(folder)!r})
        made = mapped.MappedArrays.create(mapped.plan_layout([mapped.Field("a", (3,), "<f4")]))
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    (path,) = folder.iterdir()
    assert sweep_stale() == [path]


def test_a_lock_keeps_a_file_whatever_its_name_says(folder):
    """A process in another pid namespace is not to be seen; its lock is."""
    mine = MappedArrays.create(plan_layout(FIELDS))
    foreign = folder / "parcade-99999999999999999999-x.block"
    foreign.touch()
    with open(foreign, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert sweep_stale() == []
    assert sweep_stale() == [foreign]
    assert mine.path.exists()
    mine.close()


def test_odd_files_of_others_stop_nobody(folder):
    (folder / "parcade-²-1.block").mkdir()
    os.mkfifo(folder / "parcade-fifo.block")
    (folder / "parcade-link.block").symlink_to(folder / "nowhere")
    (folder / "parcade-notes.txt").touch()
    assert set(sweep_stale()) <= {folder / "parcade-fifo.block"}
    assert (folder / "parcade-²-1.block").exists()
    assert (folder / "parcade-notes.txt").exists()
    made = MappedArrays.create(plan_layout(FIELDS))
    made.close()


def test_a_stale_file_of_another_user_is_left_alone(folder, monkeypatch):
    path = folder / "parcade-1-cafe.block"
    path.touch()

    def refuse(self, missing_ok=False):
        raise PermissionError(1, "not yours")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert sweep_stale() == []
    assert path.exists()
