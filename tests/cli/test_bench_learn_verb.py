"""`parcade bench learn` as a command: one JSON line, one sentence for bad input, nothing left after Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from session_processes import workers_of

from parcade.cli.main import main


def test_one_json_line_and_an_exit_code_by_the_rule(tmp_path, capsys):
    command = ["bench", "learn", "--tasks", "memory", "--seeds", "1", "--budget", "0.01", "--no-peers", "--json"]
    assert main([*command, "--out", str(tmp_path / "learn.json")]) == 1  # nobody learns it in 1,024 steps
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["bench"] == "learn"
    (task,) = result["tasks"]
    assert task["task"] == "memory"
    assert task["env_steps"] == 1024
    assert task["sb3"] is None
    assert not result["passed"]
    assert "is below the wanted 0.9" in " ".join(captured.err.split())
    assert len(json.loads((tmp_path / "learn.json").read_text())["runs"]) == 2


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--tasks", "cartpol"], "did you mean 'cartpole'"),
        (["--seeds", "0"], "1 seed"),
        (["--out", "no/l.json"], "no/"),
    ],
)
def test_bad_input_is_one_sentence(flags, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "learn", *flags]) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.timeout(900)  # seconds where cores are free
def test_ctrl_c_leaves_no_process(tmp_path):
    command = [sys.executable, "-m", "parcade.cli.main", "bench", "learn", "--tasks", "lantern-features", "--no-peers"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        deadline = time.monotonic() + 400
        while len(workers_of(process.pid)) < 4:  # itself, the fork server, two workers
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, shown = process.communicate(timeout=400)
        assert process.returncode == 130, shown
        assert "Traceback" not in shown
        deadline = time.monotonic() + 60
        while workers_of(process.pid):
            assert time.monotonic() < deadline, workers_of(process.pid)
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
