"""What happens to workers and shared files when the trainer is killed, interrupted, or closes while they are stuck."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
import toy_envs as toys
from pool_support import gone, no_leaks, until  # noqa: F401
from toy_envs import KILL, one

from parcade.api import as_spec, make_pool
from parcade.pool.mapped import sweep_stale
from parcade.pool.process_pool import ProcessPool

TRAINER = """
import os, signal, sys
import cv2
import numpy as np
import toy_envs as toys
from parcade.api import make_pool

env = {"toy": toys.Toy, "lantern": "lantern", "stuck": toys.HangHoldingGil}[sys.argv[1]]
pool = make_pool(env, 4, n_workers=2, start_method=sys.argv[2])
pool.reset()
if sys.argv[3] == "unclosed":
    print(*pool.worker_pids, flush=True)
    sys.exit()
try:
    if sys.argv[1] == "stuck":
        pool.send(np.array([1, 1, 2, 1]))
    print(*pool.worker_pids, flush=True)
    while True:
        if sys.argv[1] != "stuck":
            pool.send(np.ones(4, int))
        pool.recv()
except KeyboardInterrupt:
    print("interrupted", len(pool.restarts), flush=True)
    pool.reset()
    print("still works", len(pool.restarts), flush=True)
    pool.close()
"""


_PATHS = [str(Path(toys.__file__).parent), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in _PATHS if path)}


@pytest.fixture
def trainer():
    started = []

    def start(env, method="forkserver", how="run"):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, env, method, how],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        started.append(process)
        return process, [int(pid) for pid in process.stdout.readline().split()]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def blocks_of(pid):
    return list(Path("/dev/shm").glob(f"parcade-{pid}-*.block"))


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_workers_end_with_a_trainer_killed_and_its_files_are_swept(trainer, method):
    process, workers = trainer("toy", method)
    assert len(workers) == 2
    assert len(blocks_of(process.pid)) == 3
    process.kill()
    process.wait()
    until(lambda: all(gone(pid) for pid in workers), what="the end of the workers")
    make_pool(toys.Toy, 1, n_workers=0).close()  # whoever opens a pool sweeps; a test in another process may be first
    assert blocks_of(process.pid) == []


@pytest.mark.parametrize("how", ["stopped", "stuck in C code"])
def test_even_workers_that_cannot_run_a_line_of_python_end_with_it(trainer, how):
    process, workers = trainer("toy" if how == "stopped" else "stuck")
    if how == "stopped":
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.wait()
    until(lambda: all(gone(pid) for pid in workers), what="the end of the workers")
    sweep_stale()


def test_a_pool_nobody_closed_ends_with_the_program(trainer):
    process, workers = trainer("toy", how="unclosed")
    assert process.wait(30) == 0
    until(lambda: all(gone(pid) for pid in workers), what="the end of the workers")
    assert blocks_of(process.pid) == []
    assert process.stderr.read() == ""


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_ctrl_c_reaches_the_trainer_and_not_the_workers(trainer, method):
    process, workers = trainer("toy", method)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert out.splitlines() == ["interrupted 0", "still works 0"], err
    assert err == ""
    assert process.returncode == 0
    assert all(gone(pid) for pid in workers)


def test_ctrl_c_while_workers_start_kills_none_of_them():
    code = TRAINER.replace("pool.reset()\nif", "os.killpg(0, signal.SIGINT)\npool.reset()\nif", 1)
    code = code.replace(
        "pool = make_pool", "signal.signal(signal.SIGINT, lambda *_: None)\nstart_kills()\npool = make_pool"
    )
    code = code.replace("env = {", KILLS + "env = {")
    done = subprocess.run(
        [sys.executable, "-c", code, "toy", "spawn", "unclosed"],
        capture_output=True,
        text=True,
        timeout=60,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) == 2


KILLS = """
import threading, time
def start_kills():
    def hit():
        for _ in range(100):
            os.killpg(0, signal.SIGINT)
            time.sleep(0.01)
    threading.Thread(target=hit, daemon=True).start()
"""


@pytest.mark.parametrize("how", ["idle and stopped", "hung in a step", "stuck in C code"])
def test_close_is_bounded_in_time(how):
    cls = toys.HangHoldingGil if how == "stuck in C code" else toys.Hang
    pool = make_pool(one(cls), 3, n_workers=3)
    pool.reset()
    pids = pool.worker_pids
    if how == "idle and stopped":
        os.kill(pids[1], signal.SIGSTOP)
    else:
        pool.send(np.array([1, KILL, 1]))
        until(lambda: int(pool.status["current_slot"][1]) == 1, what="the hang")
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 12  # 5 s to end by themselves, then they are killed
    assert all(gone(pid) for pid in pids)
    pool.close()


def test_two_pools_of_forked_workers_close_in_any_order():
    """A worker of the second inherits the first one's pipes: it must not keep them open."""
    first = make_pool(toys.Toy, 1, n_workers=1, start_method="fork")
    second = make_pool(toys.Toy, 1, n_workers=1, start_method="fork")
    pids = first.worker_pids
    started = time.monotonic()
    first.close()
    assert time.monotonic() - started < 4  # it ended by itself: killing comes after 5 s
    assert gone(pids[0])
    second.reset()
    second.send(np.ones(1, int))
    second.recv()
    second.close()


def test_forked_workers_start_beside_a_trainer_whose_opencv_has_threads():
    """OpenCV's threads are not in the copy: waiting for them there never ends."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        cv2.GaussianBlur(np.zeros((2000, 2000, 3), np.uint8), (9, 9), 0)
        spec = as_spec(toys.Toy)
        with ProcessPool(spec, 1, n_workers=1, start_method="fork", start_deadline_s=20, restarts=0) as pool:
            pool.reset()
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(threads)


def test_a_fork_server_that_dies_takes_its_workers_along_and_the_pool_goes_on():
    from multiprocessing import forkserver

    with make_pool(toys.Toy, 2, n_workers=2) as pool:
        pool.reset()
        workers = pool.worker_pids
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
        until(lambda: all(gone(pid) for pid in workers), what="the end of the workers")
        for _ in range(3):
            pool.send(np.ones(2, int))
            pool.recv()
        assert len(pool.restarts) == 2
