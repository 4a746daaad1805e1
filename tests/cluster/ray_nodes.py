"""Real raylets on loopback addresses of this machine, and what trainings on them may not leave behind."""

import os
import tempfile
from pathlib import Path

from parcade.bench.cluster_nodes import LocalCluster


class RayNodes(LocalCluster):
    """A cluster with so many cores on each node."""

    made = []  # the folders of all clusters of this process

    def __init__(self, *cores):
        super().__init__()
        self.made.append(self.folder.encode())
        try:
            for count in cores:
                self.add(count)
        except BaseException:
            self.close()
            raise

    def close(self):
        assert not super().close()


def learners():
    """Return the pids of all learners on nodes of this process; others may train on the same machine."""
    return _actors(b"ray::RayLearner")


def evaluators():
    """Return the pids of all actors that evaluate on nodes of this process."""
    return _actors(b"ray::RayEvaluator")


def _actors(name):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            environment = (path.parent / "environ").read_bytes()
            if path.read_bytes().startswith(name) and any(one in environment for one in RayNodes.made):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return sorted(found)


def left_behind():
    """Return what trainings of these tests have left: learners, shared files and folders of nodes.

    Other trainings may run on this machine: files of processes that live and are none of ours are theirs.
    """
    places = [*Path("/dev/shm").glob("parcade-*.block"), *Path(tempfile.gettempdir()).glob("parcade-node-*")]
    ours = {str(pid) for pid in (os.getpid(), *learners(), *evaluators())}
    files = {str(path): path.name.removeprefix("parcade-node-").removeprefix("parcade-") for path in places}
    makers = {path: name.partition("-")[0] for path, name in files.items()}
    left = [path for path, pid in makers.items() if pid in ours or not Path(f"/proc/{pid}").exists()]
    return {*left, *(f"actor {pid}" for pid in (*learners(), *evaluators()))}
