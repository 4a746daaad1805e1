"""Nodes in network namespaces of our own: the link to one is cut for some seconds, and healed."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from same_run import COMMON, PENDULUM, numbers

from parcade import train

HOME, AWAY = "10.199.71.1", "10.199.71.2"  # on a wire between two namespaces that nothing else can reach
SETTINGS = {
    **COMMON,
    **PENDULUM,
    **{"n_workers": 0, "total_timesteps": 64 * 150, "save_freq": 0, "shards": 2, "batch_size": 16},
}


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


@contextlib.contextmanager
def two_namespaces():
    """Give two namespaces with a wire between them."""
    home, away = f"pc-home-{os.getpid()}", f"pc-away-{os.getpid()}"
    made = []
    try:
        for name in (home, away):
            run("ip", "netns", "add", name)
            made.append(name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", home, "link", "add", "wire0", "type", "veth", "peer", "name", "wire1", "netns", away)
        for name, link, address in ((home, "wire0", HOME), (away, "wire1", AWAY)):
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", link)
            run("ip", "-n", name, "link", "set", link, "up")
        yield home, away
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def ray_start(namespace, folder, *words):
    env = {**os.environ, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    command = [
        Path(sys.executable).parent / "ray",
        "start",
        "--block",
        "--num-cpus=1",
        "--object-store-memory=80000000",
    ]
    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, *command, *words],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(fact, what, deadline_s=240):
    until = time.monotonic() + deadline_s
    while not fact():
        assert time.monotonic() < until, what
        time.sleep(0.1)


def living_nodes(namespace, folder):
    """Ask the head how many nodes live; 0 while it does not answer."""
    code = f"import ray; ray.init('{HOME}:6379', logging_level='ERROR'); print(sum(n['Alive'] for n in ray.nodes()))"
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", code]
    env = {**os.environ, "RAY_TMPDIR": folder}
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    return int(answer.stdout.split()[-1]) if answer.returncode == 0 else 0


def end(folder):
    """End everything that has this folder in its command line: Ray's processes are many and leave groups."""
    for _ in range(100):
        left = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if folder.encode() in path.read_bytes():
                    left.append(int(path.parent.name))
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        time.sleep(0.1)
    raise AssertionError(f"{left} did not end")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and ip")
def test_a_link_that_is_cut_and_healed_changes_no_number(tmp_path):
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))
    folder = tempfile.mkdtemp(prefix="pr-")  # a node that joins uses the head's folder
    with two_namespaces() as (home, away):
        started = []
        try:
            head = ("--head", f"--node-ip-address={HOME}", "--port=6379", "--include-dashboard=false")
            started.append(ray_start(home, folder, *head))
            wait_for(lambda: living_nodes(home, folder) == 1, "no head")
            started.append(ray_start(away, folder, f"--address={HOME}:6379", f"--node-ip-address={AWAY}"))
            wait_for(lambda: living_nodes(home, folder) == 2, "no second node")
            trained = trained_over_a_cut(home, folder, tmp_path)
        finally:
            end(folder)
            for process in started:
                process.kill()
                process.wait()
            shutil.rmtree(folder, ignore_errors=True)
    assert numbers(trained) == numbers(whole.run_dir)


def trained_over_a_cut(home, folder, tmp_path):
    """Train in the first namespace and cut the wire for five seconds; return the run's folder."""
    given = {**SETTINGS, "cluster": f"{HOME}:6379", "log_root": str(tmp_path / "cut")}
    code = f"from parcade import train\nif __name__ == '__main__': train(**{given!r})"
    env = {**os.environ, "RAY_TMPDIR": folder}
    command = ["ip", "netns", "exec", home, sys.executable, "-c", code]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        metrics = tmp_path / "cut" / "r"

        def lines():
            return sum(len(path.read_text().splitlines()) for path in metrics.glob("*/metrics.jsonl"))

        def is_under_way():
            assert process.poll() is None, process.stderr.read()
            return lines() >= 5

        wait_for(is_under_way, "no updates")
        run("ip", "-n", home, "link", "set", "wire0", "down")
        time.sleep(1)
        before = lines()
        time.sleep(4)
        assert lines() == before, "the cut was not felt"
        run("ip", "-n", home, "link", "set", "wire0", "up")
        _, told = process.communicate(timeout=200)
        assert process.returncode == 0, told
    finally:
        process.kill()
        process.wait()
    return next(metrics.iterdir())
