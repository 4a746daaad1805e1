"""Nodes that leave in order, and files that Ray's object store loses: no number changes."""

import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ray_nodes import learners
from same_run import COMMON, LANTERN, PENDULUM, same_bits

import parcade
from parcade import train
from parcade.train import events

SETTINGS = {**COMMON, **PENDULUM, "n_workers": 0, "normalize_return": True, "cluster_wait": 0.0}


def drain(address, node):
    """Drain a node as an autoscaler would before it takes the machine away."""
    command = [Path(sys.executable).parent / "ray", "drain-node", "--address", address, "--node-id", node.node_id]
    why = ["--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "test", "--deadline-remaining-seconds"]
    done = subprocess.run([*command, *why, "3600"], capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr


def lost_object():
    """Return a reference to what was in the object store and went with its owner."""
    import ray

    class Owner:
        def put(self):
            return [ray.put(b"gone")]

    owner = ray.remote(Owner).options(num_cpus=0).remote()
    (reference,) = ray.get(owner.put.remote(), timeout=120)
    ray.kill(owner, no_restart=True)
    return reference


@pytest.mark.long
def test_learners_leave_a_drained_node_and_nothing_is_repeated(start_nodes, tmp_path, caplog):
    nodes = start_nodes(2, 2)
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))

    def listen(event):
        if isinstance(event, events.Updated) and event.row["update"] == 2:
            drain(nodes.address, nodes.nodes[1])
            time.sleep(1.1)  # looks at the nodes come once a second

    with caplog.at_level(logging.INFO):
        drained = train(**SETTINGS, cluster=nodes.address, log_root=str(tmp_path / "drained"), on_event=listen)
    same_bits(whole, drained)
    moved = [one for one in caplog.messages if one.endswith("moves to node 127.0.0.2, for its node is drained")]
    assert len(moved) == 2, caplog.messages
    assert drained.worker_restarts == 0


@pytest.mark.long
def test_a_node_that_is_stopped_in_order_is_done_without(start_nodes, tmp_path):
    nodes = start_nodes(2, 2)
    whole = train(**SETTINGS, log_root=str(tmp_path / "whole"))

    def listen(event):
        if isinstance(event, events.Updated) and event.row["update"] == 2:
            nodes.leave(nodes.nodes[1])

    left = train(**SETTINGS, cluster=nodes.address, log_root=str(tmp_path / "left"), on_event=listen)
    same_bits(whole, left)
    assert left.worker_restarts >= 1


@pytest.mark.long
def test_files_that_the_object_store_lost_are_sent_again(two_nodes, tmp_path, caplog):
    from parcade.cluster.files import SentFiles

    rom = tmp_path / "my lantern.gb"
    shutil.copy(Path(parcade.__file__).parent / "roms" / "lantern.gb", rom)
    settings = {**COMMON, **LANTERN, "rom": str(rom), "n_workers": 0, "total_timesteps": 64 * 6}
    whole = train(**settings, log_root=str(tmp_path / "whole"))

    def listen(event):
        if isinstance(event, events.Updated) and event.row["update"] == 2:
            gc.collect()  # what earlier trainings left
            (files,) = [one for one in gc.get_objects() if type(one) is SentFiles]  # proxies of others may raise
            files.refs = dict.fromkeys(files.refs, lost_object())
            os.kill(learners()[0], signal.SIGKILL)

    with caplog.at_level(logging.WARNING):
        hit = train(**settings, cluster="auto", log_root=str(tmp_path / "hit"), on_event=listen)
    same_bits(whole, hit)
    assert [one for one in caplog.messages if "cannot fetch the game's files" in one and "sent again" in one]
    assert hit.worker_restarts == 2
