"""Processes that get only what is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os
from pathlib import Path
from parcade.host.child_process import run_last
run_last()
group = Path("/proc/self/autogroup")
session = group.read_text().split() if group.exists() else []
print(os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), session[-1] if session else "-")
"""


def nice_of_this_session() -> str:
    """Return the priority of this process's session, "-" where Linux keeps none (a service's first process)."""
    group = Path("/proc/self/autogroup")
    words = group.read_text().split() if group.exists() else []
    return words[-1] if words else "-"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems share processors out in other ways")
@pytest.mark.parametrize("own_session", [True, False])
def test_a_process_runs_last_and_lowers_no_session_but_its_own(own_session: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, start_new_session=own_session, check=True
    )
    is_idle, nice, of_session = told.stdout.split()
    assert (is_idle, nice) == ("True", "19")
    if own_session:
        assert of_session == ("19" if Path("/proc/self/autogroup").exists() else "-")
    else:
        assert of_session == nice_of_this_session() != "19"
    assert os.sched_getscheduler(0) != os.SCHED_IDLE
