"""Learners: shards in several processes give the bits of one process, whoever dies meanwhile."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_shards import CASES, COMMON, LANTERN, PENDULUM, same_bits

from parcade import resume, train
from parcade.errors import SettingsError
from parcade.train import events


def shared_files():
    return set(Path("/dev/shm").glob("parcade-*.block"))


def learners_of(pid):
    """Return the processes that a training in process ``pid`` has started as learners."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("parcade L") and int(rest.split()[1]) == pid:
            found.append(int(path.parent.name))
    return sorted(found)


CHECKED = {
    "features": ({**CASES["features"], "eval_freq": 128, "n_eval_episodes": 2}, 4, 1),
    "pictures": (CASES["pictures"], 2, 2),
    "memory": ({**LANTERN, "lstm": 12}, 2, 0),
    "scales": (CASES["scales"], 2, 4),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CHECKED)
def test_learners_change_no_number(case, tmp_path):
    settings, learners, workers = CHECKED[case]
    settings = {**COMMON, **settings}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    half = {**settings, "total_timesteps": 192, "learners": learners, "n_workers": workers}
    begun = train(**half, log_root=str(tmp_path / "half"))
    assert not learners_of(os.getpid())
    same_bits(whole, resume(begun.run_dir, total_timesteps=384, learners=1, n_workers=2))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_learner_that_dies_or_hangs_is_replaced_and_no_number_changes(number, tmp_path, caplog):
    settings = {**COMMON, **PENDULUM, "n_workers": 0, "normalize_return": True, "normalize_obs": True}
    settings["step_deadline_s"] = 60.0 if number == signal.SIGKILL else 3.0
    whole = train(**settings, log_root=str(tmp_path / "whole"))
    before, hit = shared_files(), []

    def strike(event):
        """Hit one learner after the second update and the other while the fourth is computed or played."""
        if isinstance(event, events.Updated) and event.row["update"] in (2, 4):
            pids = learners_of(os.getpid())
            pid = pids[len(hit)]
            hit.append(pid)
            if event.row["update"] == 2:
                os.kill(pid, number)
            else:
                threading.Timer(0.02, os.kill, (pid, number)).start()

    with caplog.at_level(logging.WARNING):
        result = train(**settings, learners=2, log_root=str(tmp_path / "hit"), on_event=strike)
    same_bits(whole, result)
    assert len(hit) == 2
    told = [
        record.message for record in caplog.records if "its games and the update are repeated exactly" in record.message
    ]
    words = "killed by SIGKILL" if number == signal.SIGKILL else "did not move for 3 s"
    assert len(told) == 2
    assert all(words in one and one.startswith("learner ") for one in told), told
    assert not learners_of(os.getpid())
    assert not [path for path in shared_files() - before if int(path.name.split("-")[1]) in hit]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_training_that_ends_takes_its_learners_along_and_goes_on_with_others(number, tmp_path):
    settings = {**COMMON, **PENDULUM, "n_workers": 2, "total_timesteps": 64 * 40}
    whole = train(**settings, log_root=str(tmp_path / "whole"))
    given = {**settings, "learners": 2, "log_root": str(tmp_path / "hit")}
    code = f"from parcade import train\nif __name__ == '__main__': train(**{given!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    try:
        wait_for(lambda: any(len(path.read_text()) > 900 for path in tmp_path.glob("hit/r/*/metrics.jsonl")), process)
        learners = learners_of(process.pid)
        assert len(learners) == 2
        os.kill(process.pid, number)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in learners))
    run = next((tmp_path / "hit" / "r").iterdir())
    same_bits(whole, resume(run, learners=4, n_workers=1))


@pytest.mark.long
def test_ctrl_c_while_learners_learn_waits_for_the_update(tmp_path):
    """An update that was begun is part of what the checkpoint holds, or nothing of its rollout is."""
    settings = {**COMMON, **PENDULUM, "n_workers": 0, "n_epochs": 200, "total_timesteps": 256, "shards": 2}
    whole = train(**settings, log_root=str(tmp_path / "whole"))

    def strike(event):
        if isinstance(event, events.Updated) and event.row["update"] == 2:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()  # the games play for a moment only

    hit = train(**settings, learners=2, log_root=str(tmp_path / "hit"), on_event=strike)
    assert hit.interrupted
    same_bits(whole, resume(hit.run_dir, learners=1))


def wait_for(fact, process=None):
    deadline = time.monotonic() + 120
    while not fact():
        assert time.monotonic() < deadline, "it did not get that far"
        assert process is None or process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"learners": 3}, r"shards 4 is not a multiple of learners 3 \(4 % 3 = 1\)"),
        ({"learners": 2, "overlap": True, "novelty": 0.1}, "learners 2 cannot be used with overlap, novelty; use one"),
    ],
)
def test_what_learners_cannot_do_is_refused(more, sentence, tmp_path):
    with pytest.raises(SettingsError, match=sentence):
        train(**{**COMMON, **LANTERN, **more}, log_root=str(tmp_path))
    assert not list(tmp_path.iterdir())
