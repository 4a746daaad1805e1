"""A short soak with real kills, and the checksum it rests on."""

import json
import os
import signal

import numpy as np
import pytest

from parcade.bench.endurance import endure
from parcade.bench.soak import checksum, soak
from parcade.cli.main import main
from parcade.env.spec import EnvSpec
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool

pytestmark = pytest.mark.long


def test_kills_change_nothing():
    result = soak(minutes=10 / 60, n_envs=4, observation="features", gap_s=(0.5, 1.5), say=lambda text: None)
    assert result["deaths"] >= 2, result
    assert sum(result["deaths_by_kind"].values()) == result["deaths"]
    assert result["checksums_equal"], result
    assert result["checksum"] == result["checksum_undisturbed"]
    assert result["orphans"] == result["files_left"] == result["cut_episodes"] == 0
    assert result["fds_start"] == result["fds_end"]
    assert result["passed"], result


def test_without_kills_nobody_dies_and_workers_change_nothing(capsys):
    flags = ["--no-kills", "--minutes", "1", "--steps", "3200", "--n-envs", "8", "--n-workers", "0,1,2,4"]
    assert main(["bench", "soak", "--game", "meadow", *flags, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["passed"] is True
    assert [run["n_workers"] for run in result["runs"]] == [0, 1, 2, 4]
    assert {(run["env_steps"], run["deaths"]) for run in result["runs"]} == {(3200, 0)}
    (saves,) = {run["saves"] for run in result["runs"]}
    assert saves >= 4  # flash memory was written while other games ran in the same process


def test_a_time_limit_gives_all_the_same_steps():
    result = endure("lantern", minutes=0.01, n_envs=2, n_workers=(0, 1), observation="features", say=print)
    steps = [run["env_steps"] for run in result["runs"]]
    assert steps[0] == steps[1] > 0
    assert result["checksums_equal"]
    assert result["runs"][0]["saves"] is None


def test_endurance_that_differs_fails(monkeypatch):
    """The comparison itself is seen red."""
    import parcade.bench.endurance as module

    calls = iter(range(10_000))
    monkeypatch.setattr(module, "checksum", lambda rows, running: next(calls))
    result = endure(n_envs=1, n_workers=(0, 0), max_env_steps=3, observation="features", say=lambda text: None)
    assert not result["checksums_equal"]
    assert not result["passed"]


def test_several_workers_and_kills_do_not_go_together(capsys):
    assert main(["bench", "soak", "--n-workers", "1,2"]) == 2
    assert "--no-kills compares several" in capsys.readouterr().err


def test_the_checksum_is_of_the_numbers_not_of_the_pool():
    spec = EnvSpec(game="lantern", max_steps=5)
    sums = []
    for pool in (SerialPool(spec, 2, n_groups=2), ProcessPool(spec, 2, n_workers=1, n_groups=2)):
        with pool:
            sums.append(_run(pool))
    assert sums[0] == sums[1]
    with SerialPool(spec, 2, n_groups=2) as other:
        assert _run(other, action=2) != sums[0]


def _run(pool, action=1):
    running = 0
    pool.reset()
    for _ in range(8):
        for group in range(2):
            pool.send(np.array([action]), group)
            running = checksum(pool.recv(group), running)
    return running


def test_one_flipped_bit_changes_the_checksum():
    with SerialPool(EnvSpec(game="lantern"), 1) as pool:
        pool.reset()
        pool.send(np.array([1]))
        rows = pool.recv()
        before = checksum(rows, 0)
        rows.obs["obs"].view(np.uint8)[0, 7] ^= 1
        assert checksum(rows, 0) != before


def test_a_soak_that_differs_fails(monkeypatch):
    """The comparison itself is seen red: one pool's checksums are spoilt."""
    import parcade.bench.soak as module

    calls = iter(range(10_000))
    monkeypatch.setattr(module, "checksum", lambda rows, running: next(calls))
    result = soak(minutes=1, n_envs=2, observation="features", gap_s=(60.0, 60.0), say=lambda text: None)
    assert not result["checksums_equal"]
    assert not result["passed"]
    assert result["first_difference_at_env_step"] == 2


def test_orphans_are_seen():
    import subprocess

    from parcade.bench.soak import _still_alive, note_pids

    sleeper = subprocess.Popen(["sleep", "60"])
    pids: dict[int, str] = {}
    note_pids(pids, [sleeper.pid])
    assert _still_alive(pids) == [sleeper.pid]
    os.kill(sleeper.pid, signal.SIGKILL)
    sleeper.wait()
    assert _still_alive(pids) == []
