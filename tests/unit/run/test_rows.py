"""Rows wait for room on a full disk, and a shortened file keeps what is whole."""

import os
import resource

import pytest

from parcade.run.metrics import read_rows
from parcade.run.rows import RowFile


@pytest.fixture
def full_disk():
    """Let files end at 100 bytes, as on a disk without room; ``free`` makes room again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def free():
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    yield free
    free()


def test_rows_wait_for_room_and_are_all_written_in_order(tmp_path, full_disk, caplog):
    path, rows = tmp_path / "rows", [f"{number:>30}" for number in range(10)]
    file = RowFile(path)
    for row in rows:
        file.add(row)
        file.flush()
    assert path.stat().st_size == 100
    assert caplog.text.count("cannot be written") == 1
    with pytest.raises(OSError, match="too large"):
        file.end()
    full_disk()
    assert file.end() == 310
    file.close()
    assert path.read_text().splitlines() == rows


def test_a_cut_goes_back_and_a_shortened_file_keeps_whole_rows(tmp_path, caplog):
    path = tmp_path / "rows"
    file = RowFile(path)
    for row in ("one", "two", "three"):
        file.add(row)
    assert file.end() == 14
    file.add("late")
    file.cut(8)
    assert path.read_text() == "one\ntwo\n"
    assert not caplog.text
    path.write_text("one\ntw")
    file.cut(8)
    assert "has lost rows" in caplog.text
    file.add("four")
    file.close()
    assert path.read_text() == "one\nfour\n"


def test_no_file_stays_open_however_many_there_are(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    files = [RowFile(tmp_path / str(number)) for number in range(50)]
    for file in files:
        file.add("row")
        file.flush()
    assert len(os.listdir("/proc/self/fd")) == before
    assert all(file.end() == 4 for file in files)


def test_damaged_lines_of_metrics_are_passed_over(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"update": 1}\n\x00\xff\n{"upd\n3\n{"update": 2}\n')
    assert list(read_rows(path)) == [{"update": 1}, {"update": 2}]
