"""Which run is the newest."""

import json
import os

from parcade.run.directory import begun, newest_run


def make_run(folder, started=None):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "manifest.json").write_text(json.dumps({} if started is None else {"started": started}))
    return folder


def test_a_run_begun_after_a_sweep_is_the_newest(tmp_path):
    trial = make_run(tmp_path / "sweep" / "trial-001", "2026-01-02T10:00:00")
    assert newest_run(tmp_path) == trial
    run = make_run(tmp_path / "lantern" / "20260102-100001")
    assert newest_run(tmp_path) == run
    later = make_run(tmp_path / "sweep" / "trial-002", "2026-01-02T10:00:02")
    assert newest_run(tmp_path) == later
    again = make_run(tmp_path / "lantern" / "20260102-100002-1")
    assert newest_run(tmp_path) == again


def test_a_folder_that_tells_no_time_counts_by_its_own(tmp_path):
    run = make_run(tmp_path / "renamed", "yesterday")
    os.utime(run, (1, 1))
    assert begun(run) < "19800101"
    (run / "manifest.json").write_text("{")
    assert begun(run) < "19800101"
