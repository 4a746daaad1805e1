"""Nodes and learners that die, hang, leave and join: named in words, and no number changes."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from ray_nodes import learners
from same_run import COMMON, PENDULUM, same_bits

from parcade import resume, train
from parcade.errors import PoolError
from parcade.train import events

SETTINGS = {**COMMON, **PENDULUM, "n_workers": 0, "normalize_return": True, "normalize_obs": True, "cluster_wait": 0.0}


def at_update(number, act, *, later_s=None):
    """Return a listener that acts after an update, or ``later_s`` afterwards, while the next is played or learned."""

    def listen(event):
        if isinstance(event, events.Updated) and event.row["update"] == number:
            if later_s is None:
                act()
            else:
                threading.Timer(later_s, act).start()

    return listen


def told(caplog):
    return [record.getMessage() for record in caplog.records if "repeated exactly" in record.getMessage()]


@pytest.mark.long
def test_a_killed_learner_is_replaced_and_no_number_changes(two_nodes, tmp_path, caplog):
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))
    with caplog.at_level(logging.WARNING):
        hit = train(
            **SETTINGS,
            cluster=two_nodes.address,
            log_root=str(tmp_path / "hit"),
            on_event=at_update(2, lambda: os.kill(learners()[0], signal.SIGKILL)),
        )
    same_bits(whole, hit)
    assert len(told(caplog)) == 1
    assert "on node 127.0.0." in told(caplog)[0]
    assert " died (" in told(caplog)[0]
    assert hit.worker_restarts == 1


@pytest.mark.long
@pytest.mark.parametrize("later_s", [None, 0.05])
def test_a_killed_node_is_done_without(later_s, start_nodes, tmp_path, caplog):
    nodes = start_nodes(2, 2)
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))
    strike = at_update(2, lambda: nodes.kill(nodes.nodes[1]), later_s=later_s)
    with caplog.at_level(logging.WARNING):
        hit = train(**SETTINGS, cluster=nodes.address, log_root=str(tmp_path / "hit"), on_event=strike)
    same_bits(whole, hit)
    assert 2 <= len(told(caplog)) <= 4, told(caplog)
    assert any("on node 127.0.0.3 is gone with its node" in one for one in told(caplog)), told(caplog)


@pytest.mark.long
def test_a_learner_that_hangs_is_replaced(start_nodes, tmp_path, caplog):
    nodes = start_nodes(2, 2)
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))
    settings = {**SETTINGS, "step_deadline_s": 5.0}
    strike = at_update(2, lambda: os.kill(learners()[1], signal.SIGSTOP))
    with caplog.at_level(logging.WARNING):
        hit = train(**settings, cluster=nodes.address, log_root=str(tmp_path / "hit"), on_event=strike)
    same_bits(whole, hit)
    assert any("did not move for 5 s and was killed" in one for one in told(caplog)), told(caplog)


@pytest.mark.long
def test_a_node_that_joins_gets_learners_and_one_that_leaves_is_waited_for(start_nodes, tmp_path, caplog):
    nodes = start_nodes(4)
    settings = {**SETTINGS, "total_timesteps": 64 * 60}
    whole = train(**settings, log_root=str(tmp_path / "whole"))

    def listen(event):
        if isinstance(event, events.Updated) and event.row["update"] == 2:
            nodes.add(4)
        time.sleep(0.05 if isinstance(event, events.Updated) else 0)  # looks at the nodes come once a second

    with caplog.at_level(logging.INFO):
        joined = train(**settings, cluster=nodes.address, log_root=str(tmp_path / "joined"), on_event=listen)
    same_bits(whole, joined)
    moved = [record.getMessage() for record in caplog.records if "moves to node" in record.getMessage()]
    assert [one for one in moved if one.endswith("moves to node 127.0.0.3")], moved
    assert joined.worker_restarts == 0


@pytest.mark.long
def test_without_a_node_the_training_waits_and_then_ends_with_what_it_saved(start_nodes, tmp_path):
    nodes = start_nodes(0, 4)
    settings = {**SETTINGS, "total_timesteps": 64 * 12}
    whole = train(**settings, log_root=str(tmp_path / "whole"))
    strike = at_update(6, lambda: nodes.kill(nodes.nodes[1]))
    with pytest.raises(PoolError, match="has no node: no node that is left in the cluster can hold it"):
        train(
            **{**settings, "cluster_wait": 1.0},
            cluster=nodes.address,
            log_root=str(tmp_path / "hit"),
            on_event=strike,
        )
    run = next((tmp_path / "hit" / "r").iterdir())
    same_bits(whole, resume(run, cluster="none", n_workers=2))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_trainer_ends_the_learners_and_the_run_goes_on_elsewhere(number, start_nodes, tmp_path):
    nodes = start_nodes(2, 2)
    settings = {**SETTINGS, "total_timesteps": 64 * 40, "n_workers": 4}
    whole = train(**settings, log_root=str(tmp_path / "whole"))
    given = {**settings, "cluster": nodes.address, "log_root": str(tmp_path / "hit")}
    code = f"from parcade import train\nif __name__ == '__main__': train(**{given!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    try:
        wait_for(lambda: any(len(path.read_text()) > 900 for path in tmp_path.glob("hit/r/*/metrics.jsonl")), process)
        assert len(learners()) == 4
        os.kill(process.pid, number)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    wait_for(lambda: not learners())
    run = next((tmp_path / "hit" / "r").iterdir())
    nodes.add(4)
    same_bits(whole, resume(run, cluster=nodes.address, learners=2, n_workers=None))


def wait_for(fact, process=None):
    deadline = time.monotonic() + 120
    while not fact():
        assert time.monotonic() < deadline, "it did not get that far"
        assert process is None or process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)
