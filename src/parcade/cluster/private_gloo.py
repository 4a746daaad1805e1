"""What torch keeps private of gloo: a group's address, deadline and threads. It is tried once."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

import torch

from parcade.cluster.notice_board import c10d
from parcade.errors import ClusterError


def group_options(address: str, timeout: timedelta) -> Any:
    """Return options for a gloo group on one of this machine's addresses, with one thread."""
    options = c10d.ProcessGroupGloo._Options()
    options._timeout, options._threads = timeout, 1
    options._devices = [c10d.ProcessGroupGloo.create_device(hostname=address)]
    return options


@cache
def has_group_options() -> bool:
    """Whether torch takes these options and keeps them."""
    try:
        options = group_options("127.0.0.1", timedelta(seconds=7))
        return bool(options._timeout == timedelta(seconds=7) and options._threads == 1 and len(options._devices) == 1)
    except (AttributeError, RuntimeError, TypeError):
        return False


def check_gloo(n_learners: int) -> None:
    """Refuse a cluster whose learners could not exchange gradients; a single one sends nothing."""
    if n_learners > 1 and not has_group_options():
        raise ClusterError(
            f"torch {torch.__version__} does not take the network address of a learner as torch 2.13 does; "
            "install torch 2.13"
        )
