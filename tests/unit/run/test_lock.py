"""A run is trained by one process at a time, and a killed one leaves no lock behind."""

import subprocess
import sys
import time

import pytest

from parcade.errors import RunError
from parcade.run.lock import held

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
