"""A run is trained by one process at a time, and a killed one leaves no lock behind."""

import subprocess
import sys
import time

import pytest

from parcade.errors import RunError
from parcade.run.lock import held, is_locked

HOLD = """
import pathlib, sys, time
from parcade.run.lock import held
with held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    path = tmp_path / "logs" / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        assert is_locked(path)
        with pytest.raises(RunError, match=f"{tmp_path} is being trained by process {holder.pid}:"), held(path):
            pass
    finally:
        holder.kill()
        holder.communicate()
    deadline = time.monotonic() + 10
    while True:
        try:
            with held(path):
                break
        except RunError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert not is_locked(path)


def test_asking_does_not_give_the_own_lock_back(tmp_path):
    path = tmp_path / "logs" / "lock"
    assert not is_locked(path)
    ask = "import pathlib, sys; from parcade.run.lock import is_locked; print(is_locked(pathlib.Path(sys.argv[1])))"
    with held(path):
        assert is_locked(path)
        told = subprocess.run([sys.executable, "-c", ask, str(path)], capture_output=True, text=True, check=True).stdout
        assert told == "True\n"
