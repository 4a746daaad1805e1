"""Reaching a Ray cluster: one sentence where there is none, nothing of Ray's own in the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parcade.errors import ClusterError, MissingExtraError

REACH_S = 5.0
# The preface of HTTP/2 and an empty frame of settings; whoever speaks gRPC answers with settings of its own.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_START = "start one with `ray start --head` (docs/cluster.md)"


def ray_module() -> Any:
    """Return Ray, or raise MissingExtraError."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("cluster needs Ray; pip install 'parcade[cluster]'") from None
    return ray


def address_of(given: str) -> str:
    """Return the address of a cluster as host:port, of one that answers there."""
    address = (os.environ.get("RAY_ADDRESS") or _last_started()) if given == "auto" else given
    if address is None:
        raise ClusterError(f"cluster auto: no Ray cluster runs on this machine; {_START}")
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ClusterError(f"cluster {address!r} is no address; wanted auto or host:port, such as 10.0.0.1:6379")
    why = _silence(host, int(port))
    if why is not None:
        raise ClusterError(f"no Ray cluster answers at {address} ({why}); {_START}")
    return address


def _last_started() -> str | None:
    """Return where the cluster is that was last started on this machine; Ray notes it in a file."""
    root = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray"
    try:
        return (root / "ray_current_cluster").read_text().strip() or None
    except OSError:
        return None


def _silence(host: str, port: int) -> str | None:
    """Return why nobody answers there as Ray would, or None: Ray itself tries for minutes."""
    try:
        with socket.create_connection((host, port), REACH_S) as reached:
            reached.settimeout(REACH_S)
            reached.sendall(_HELLO)
            found = reached.recv(9)
    except OSError as error:
        return error.strerror or "no answer"
    is_grpc = len(found) >= 4 and found[3] == 4
    return None if is_grpc else "something else listens there"


@contextlib.contextmanager
def connected(given: str) -> Iterator[Any]:
    """Give Ray, connected to a cluster; a connection that the program had before is used and left alone."""
    ray = ray_module()
    if ray.is_initialized():
        yield ray
        return
    address = address_of(given)
    with _signals_kept():
        try:
            ray.init(
                address=address,
                namespace=f"parcade-{uuid.uuid4().hex[:12]}",
                log_to_driver=False,
                logging_level="FATAL",
                configure_logging=False,
            )
        except Exception as error:
            ray.shutdown()
            raise ClusterError(_told(address, error)) from None
    silent = _silenced(ray)
    try:
        yield ray
    finally:
        with _signals_kept():
            ray.shutdown()
        silent.close()


def _told(address: str, error: Exception) -> str:
    """Return in one sentence why Ray does not let this program in."""
    text = " ".join(str(error).split())
    if "Failed to connect" in text and _has_unused_token():
        return (
            f"the cluster at {address} refuses this program: `ray start` uses the token in ~/.ray/auth_token "
            "if there is one; set RAY_AUTH_MODE=token here, or start every node with RAY_AUTH_MODE=disabled"
        )
    if "Version mismatch" in text:
        return f"the cluster at {address} runs another Python or Ray than this machine: {text[:300]}"
    if "raylet" in text.lower() or "node" in text.lower():
        return (
            f"this machine is no node of the cluster at {address}; start one here with "
            f"`ray start --address {address}`, and train on it ({text[:160]})"
        )
    return f"the cluster at {address} cannot be used: {type(error).__name__}: {text[:300]}"


def _has_unused_token() -> bool:
    """Whether this account has a token for Ray clusters that a program does not show by itself."""
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    return "RAY_AUTH_MODE" not in os.environ and file.is_file()


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM to who had them: Ray takes SIGTERM for itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _silenced(ray: Any) -> contextlib.ExitStack:
    """Keep what Ray prints of dying processes out of the terminal: the trainer tells it in its own words."""
    stack = contextlib.ExitStack()
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    before = getattr(worker, "print_worker_logs", None)
    if before is not None:
        setattr(worker, "print_worker_logs", lambda *_args, **_options: None)  # noqa: B010
        stack.callback(setattr, worker, "print_worker_logs", before)
    return stack
