"""A tracker works in the background: what it is told arrives in order, and nothing it does reaches the training."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcade.errors import MissingExtraError
from parcade.host.child_process import run_at_once
from parcade.host.core_use import CoreTime
from parcade.run.trackers import background
from parcade.run.trackers.background import BackgroundTracker
from parcade.run.trackers.base import Kept, check_installed, read_kept, write_kept
from parcade.run.trackers.process import words_of

HERE = Path(__file__).parent
ABOUT = {"name": "lantern 1", "project": "parcade", "log_root": "results", "settings": {"seed": 3, "game": "lantern"}}
DEADLINE_S = 60.0


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    monkeypatch.setenv("TRACKED_FILE", str(tmp_path / "told.jsonl"))
    places = [str(HERE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    return tmp_path


@pytest.fixture
def opened(run):
    made = []

    def open_tracker(kind, **options):
        tracker = BackgroundTracker("file", run, tracker=f"tracker_kinds:{kind}", **options)
        made.append(tracker)
        tracker.send({"open": ABOUT})
        return tracker

    yield open_tracker
    for tracker in made:
        tracker.close()
        assert tracker._process.returncode is not None


def told(run):
    file = run / "told.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def wait_for(fact):
    until_s = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_everything_arrives_in_order_before_close_returns(run, opened, caplog):
    tracker = opened("FileTracker")
    for step in range(1, 51):
        tracker.send({"row": [step, {"rollout/ep_rew_mean": step / 2}]})
    tracker.send({"video": "final.mp4", "env_steps": 50})
    tracker.send({"model": "best_model.zip"})
    tracker.end({"close": ["finished", {"env_steps": 50}]})
    tracker.close()
    words = told(run)
    assert words[0] == ["open", None, "lantern 1", ABOUT["settings"]]
    assert [word[1] for word in words if word[0] == "log"] == list(range(1, 51))
    assert words[-3:] == [
        ["video", "final.mp4", 50],
        ["model", "best_model.zip"],
        ["close", "finished", {"env_steps": 50}],
    ]
    assert read_kept(run, "file") == Kept("entry-1", 50, "a file")
    assert not caplog.records


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="only Linux shares processors between sessions")
def test_it_goes_behind_the_games_also_where_sessions_share_processors(run, opened):
    tracker = opened("FileTracker")
    wait_for(lambda: told(run))
    session = session_of(tracker._process.pid)
    nice = os.getpriority(os.PRIO_PROCESS, tracker._process.pid)
    tracker.end({"close": ["finished", {}]})
    assert session == "10"
    assert nice >= 10


def test_a_resumed_run_goes_on_with_its_entry_and_repeats_no_point(run, opened):
    write_kept(run, "file", Kept("entry-7", 20, "a file"))
    tracker = opened("FileTracker")
    for step in (10, 20, 30):
        tracker.send({"row": [step, {"a": 1.0}]})
    tracker.send({"row": [30, {"eval/mean_reward": 1.0}], "is_last": True})
    tracker.end({"close": ["finished", {}]})
    tracker.close()
    assert told(run)[0][1] == "entry-7"
    assert [word[1:] for word in told(run) if word[0] == "log"] == [[30, {"a": 1.0}], [30, {"eval/mean_reward": 1.0}]]
    assert read_kept(run, "file") == Kept("entry-7", 30, "a file")


@pytest.mark.parametrize("damaged", ["", "[]", '{"id": 3, "env_steps": 1, "where": ""}', '{"id": "a"}'])
def test_a_damaged_note_of_the_entry_counts_as_none(run, damaged):
    (run / "trackers").mkdir()
    (run / "trackers" / "file.json").write_text(damaged)
    assert read_kept(run, "file") is None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("FailingTracker", "the server is gone"),
        ("ClosedDoorTracker", "no server at 127.0.0.1:1"),
        ("DyingTracker", "killed by SIGKILL"),
        ("NoSuchTracker", "NoSuchTracker"),
    ],
)
def test_a_failure_is_one_warning(opened, caplog, kind, words):
    tracker = opened(kind)
    for step in range(1, 6):
        tracker.send({"row": [step, {"a": 1.0}]})
    wait_for(lambda: caplog.records)
    tracker.end({"close": ["finished", {}]})
    tracker.close()
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith("the tracker file ")
    assert words in warnings[0]


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="only Linux shares processors between sessions")
def test_nobody_goes_before_it_when_the_training_is_over(run, opened, monkeypatch, caplog):
    monkeypatch.setattr(background, "TOLD_AFTER_S", 0.0)
    seen = []
    monkeypatch.setattr(background, "run_at_once", lambda pid: (run_at_once(pid), seen.append(session_of(pid))))
    tracker = opened("HangingTracker", patience_s=0.3)
    for step in range(1, 3):
        tracker.send({"row": [step, {"a": 1.0}]})
    wait_for(lambda: ["log", 2, {"a": 1.0}] in told(run))
    assert session_of(tracker._process.pid) == "10"
    tracker.end({"close": ["finished", {}]})
    assert seen == ["0"]
    tracker.close()
    assert seen == ["0", "0"]


def session_of(pid):
    return Path(f"/proc/{pid}/autogroup").read_text().split()[-1]


def test_time_in_which_others_have_the_core_is_no_silence(monkeypatch):
    waited = [CoreTime(1.0, 5.0)]
    monkeypatch.setattr(background, "core_time", lambda pid: waited[0])
    silence = background.Silence(1)
    silence._from_s -= 100.0  # a hundred seconds ago
    assert silence.seconds(0.0) >= 100.0
    waited[0] = CoreTime(1.5, 104.0)
    assert 1.0 <= silence.seconds(0.0) < 60.0
    assert silence.seconds(time.monotonic()) < 1.0  # a sign came just now
    monkeypatch.setattr(background, "core_time", lambda pid: None)  # it is gone, or the kernel does not tell
    assert silence.seconds(0.0) < 1000.0


def test_a_hanging_tracker_holds_nobody_up_and_is_ended(run, opened, caplog):
    tracker = opened("HangingTracker", patience_s=0.3, most_waiting=10)
    for step in range(1, 3):
        tracker.send({"row": [step, {"a": 1.0}]})
    wait_for(lambda: ["log", 2, {"a": 1.0}] in told(run))
    large = {f"name_{number}": 1.0 for number in range(5000)}  # more than a pipe takes
    started_s = time.monotonic()
    for step in range(3, 203):
        tracker.send({"row": [step, large]})
    assert time.monotonic() - started_s < 5.0
    tracker.end({"close": ["finished", {}]})
    tracker.close()
    assert tracker._process.returncode == -signal.SIGKILL
    assert len(caplog.records) == 1
    assert "slower than the training" in caplog.records[0].getMessage()


def test_a_killed_training_leaves_no_tracker_behind(run):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from parcade.run.trackers.background import BackgroundTracker\n"
        "tracker = BackgroundTracker('file', Path(sys.argv[1]), tracker='tracker_kinds:FileTracker')\n"
        f"tracker.send({{'open': {ABOUT!r}}}); tracker.send({{'row': [5, {{'a': 1.0}}]}})\n"
        "print(tracker._process.pid, flush=True); time.sleep(600)"
    )
    trainer = subprocess.Popen([sys.executable, "-c", code, str(run)], stdout=subprocess.PIPE, text=True)
    pid = int(trainer.stdout.readline())
    try:
        wait_for(lambda: any(word[0] == "log" for word in told(run)))
    finally:
        trainer.kill()
        trainer.communicate()
    wait_for(lambda: any(word[:2] == ["close", "failed"] for word in told(run)))
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_a_tracker_without_its_package_is_one_sentence():
    with pytest.raises(MissingExtraError, match="pip install no_such_tracker"):
        check_installed("no_such_tracker")


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "refuses connections; start it, or correct its address"),
        (socket.gaierror(-2, "Name or service not known"), "cannot be found: nobody knows its name"),
        (TimeoutError("timed out"), "does not answer"),
        (ConnectionResetError(104, "Connection reset by peer"), "broke the connection"),
    ],
)
def test_a_server_out_of_reach_is_told_in_plain_words(root, why):
    """Packages tell it with the insides of urllib3; the password in an address is nobody's business."""
    error = RuntimeError("API request to http://me:secret@host:5000/api/2.0/x failed: HTTPConnectionPool(host='host')")
    error.__cause__ = OSError("Max retries exceeded with url")
    error.__cause__.__context__ = root
    assert words_of(error) == f"the server at http://host:5000 {why}"


def test_other_errors_are_told_as_they_are():
    assert words_of(ValueError("two\n lines")) == "two lines"
