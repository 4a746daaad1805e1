"""Ray clusters on this machine: every node is a raylet of its own, on a loopback address of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcade.cluster.connection import ray_module

STORE_BYTES = 80 << 20  # of each node's object store; Ray takes a third of the memory otherwise
ENDING_S = 30.0
# Ray gives its workers the niceness 15: beside anything else they would hardly run, and a training without Ray would.
_AS_OTHERS = {"RAY_worker_niceness": "0"}


class LocalCluster:
    """Node n has the address 127.0.0.(2 + n): Ray takes 127.0.0.1 for the machine's outer address."""

    def __init__(self) -> None:
        ray_module()
        from ray.cluster_utils import Cluster

        self.folder = tempfile.mkdtemp(prefix="pr-")  # sockets need short paths
        self._before = os.environ.get("RAY_TMPDIR")
        os.environ["RAY_TMPDIR"] = self.folder
        self._cluster: Any = Cluster()
        self.nodes: list[Any] = []  # all there ever were

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Where the cluster is reached."""
        return str(self._cluster.address)

    def add(self, cores: int, *, core: int | None = None, env: Mapping[str, str] | None = None) -> Any:
        """Start a node that tells Ray of ``cores`` cores; ``core`` pins all of its processes to one."""
        first = {"include_dashboard": False} if not self.nodes else {}
        address = f"127.0.0.{2 + len(self.nodes)}"
        with _environment({**_AS_OTHERS, **(env or {})}), pinned(core):
            node = self._cluster.add_node(
                num_cpus=cores, object_store_memory=STORE_BYTES, node_ip_address=address, **first
            )
        self.nodes.append(node)
        return node

    def kill(self, node: Any) -> None:
        """Kill a node's raylet, as a crash of the machine would; its learners end with it."""
        self._cluster.remove_node(node, allow_graceful=False)

    def leave(self, node: Any) -> None:
        """Stop a node as `ray stop` does."""
        self._cluster.remove_node(node, allow_graceful=True)

    def processes(self) -> list[int]:
        """Return the pids of everything that belongs to the cluster."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.folder.encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def close(self) -> list[int]:
        """End all nodes; return the pids of what did not end."""
        self._cluster.shutdown()
        until_s = time.monotonic() + ENDING_S
        while self.processes() and time.monotonic() < until_s:
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.environ.pop("RAY_TMPDIR", None)
        if self._before is not None:
            os.environ["RAY_TMPDIR"] = self._before
        return self.processes()


@contextlib.contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Have what is started here run on one core only; None: on all."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[core % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
