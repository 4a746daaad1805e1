"""`parcade sweep` in real processes, killed at random moments: the same command ends in the same trials."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from sweeps import TEXT, results, written

pytest.importorskip("optuna")

from parcade.tune.sweep.file import read_sweep
from parcade.tune.sweep.sweep import Sweep

DEADLINE_S = 200
HEEDS = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell has what it runs behind ignore it


def command(folder, *more):
    words = ["sweep", str(folder / "small.yaml"), "--out", str(folder / "small"), "--json", *more]
    return [sys.executable, "-m", "parcade.cli.main", *words]


def started(folder, *more):
    return subprocess.Popen(
        command(folder, *more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=HEEDS,
    )


def finished(folder, *more):
    answer = subprocess.run(command(folder, *more), capture_output=True, text=True, timeout=DEADLINE_S)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def n_rows(folder):
    return sum(len(path.read_text().splitlines()) for path in folder.glob("small/trial-*/metrics.jsonl"))


def until(fact, process):
    deadline = time.monotonic() + DEADLINE_S
    while not fact():
        assert process.poll() is None, f"the sweep ended too early: {process.communicate()}"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def killed(folder, rows, whole_group):
    """Run the command until there are so many more rows, then kill the sweep: alone, or with all its processes."""
    process = started(folder)
    before = n_rows(folder)
    until(lambda: n_rows(folder) - before >= rows, process)
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()  # its job has to notice
    process.communicate(timeout=DEADLINE_S)


def sweep_in(folder):
    return Sweep(read_sweep(str(folder / "small.yaml"), {}), folder / "small")


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_five_kills_end_in_the_same_trials(tmp_path):
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    for folder in (broken, whole):
        folder.mkdir()
        written(folder)
    told = finished(whole)
    chance = random.Random(4)
    for number in range(5):
        killed(broken, chance.randint(0, 6), whole_group=number % 2 == 0)
    again = finished(broken)
    assert results(sweep_in(broken)) == results(sweep_in(whole))
    assert [trial["values"] for trial in again["trials"]] == [trial["values"] for trial in told["trials"]]
    assert (broken / "small" / "best.yaml").read_text() == (whole / "small" / "best.yaml").read_text()
    assert not _left(broken)


def _left(folder):
    """Return the processes that still work for a sweep."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder) in path.read_bytes().decode(errors="replace"):
                found.append(path)
        except OSError:
            continue
    return found


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ctrl_c_stops_with_checkpoints_and_two_commands_share_one_storage(tmp_path):
    written(tmp_path, TEXT.replace("total_timesteps: 1024", "total_timesteps: 40960"))
    process = started(tmp_path)
    until(lambda: n_rows(tmp_path) >= 2, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["interrupted"]
    assert "Traceback" not in err
    assert list(tmp_path.glob("small/trial-001/checkpoints/*.ckpt"))
    assert (tmp_path / "small" / "sweep.html").is_file()
    two = [started(tmp_path) for _ in range(2)]
    ended = [process.communicate(timeout=DEADLINE_S) for process in two]
    assert [process.returncode for process in two] == [0, 0], ended
    told = [json.loads(out.splitlines()[-1]) for out, _ in ended]
    assert told[0]["trials"] == told[1]["trials"]
    assert told[0]["n_trials"] == 5
    assert told[0]["complete"] >= 1
    assert told[0]["under_way"] == 0
