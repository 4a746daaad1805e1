"""What the pool's tests share: the same actions for any pool, exact comparison, and a fixture that finds leaks."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from gymnasium import spaces
from toy_envs import Toy

from parcade.api import make_pool


class Script:
    """The same actions for any pool: step t's batch for all slots is a function of t."""

    def __init__(self, space: spaces.Space, n_envs: int, n_groups: int, seed: int = 11) -> None:
        self._space, self._n_envs, self._n_groups, self._seed = space, n_envs, n_groups, seed

    def batch(self, t: int, group: int = 0) -> Any:
        self._space.seed(self._seed + t)
        all_slots = [self._space.sample() for _ in range(self._n_envs)]
        return stack(self._space, all_slots[group :: self._n_groups])


def stack(space: spaces.Space, values: list[Any]) -> Any:
    """Return a batch with the structure of the space and an array at each leaf."""
    if isinstance(space, spaces.Dict):
        return {key: stack(part, [value[key] for value in values]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(stack(part, [value[i] for value in values]) for i, part in enumerate(space.spaces))
    return np.stack([np.asarray(value) for value in values])


Row = dict[str, np.ndarray]


def copied(rows) -> Row:
    """Return everything a recv handed out; what means nothing where no episode ended is zero."""
    ended = rows.terminated | rows.truncated
    out = {f"obs:{leaf}": array.copy() for leaf, array in rows.obs.items()}
    out |= {"reward": rows.reward.copy(), "terminated": rows.terminated.copy(), "truncated": rows.truncated.copy()}
    at_end = {f"final:{leaf}": array for leaf, array in rows.final.items()}
    at_end |= {"return": rows.episode_return, "length": rows.episode_length, "metrics": rows.metrics}
    for name, array in at_end.items():
        kept = array.copy()
        kept[~ended] = 0
        out[name] = kept
    return out


def play(pool, steps: int, *, first: int = 0, script: Script | None = None, disturb=None) -> list[Row]:
    """Take ``steps`` steps in every group as a training loop does; return all rows in order.

    ``disturb(t, group)`` is called while steps are under way.
    """
    script = script or Script(pool.action_space, pool.n_envs, pool.n_groups)
    groups = range(pool.n_groups)
    out = [{f"obs:{leaf}": a.copy() for leaf, a in pool.observations(g).items()} for g in groups]
    for group in groups:
        pool.send(script.batch(first, group), group)
    for t in range(first, first + steps):
        for group in groups:
            if disturb is not None:
                disturb(t, group)
            out.append(copied(pool.recv(group)))
            if t + 1 < first + steps:
                pool.send(script.batch(t + 1, group), group)
    return out


def same(left: list[Row], right: list[Row]) -> None:
    """Fail where two plays differ in one bit."""
    assert len(left) == len(right)
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        assert a.keys() == b.keys()
        for name in a:
            if a[name].dtype != b[name].dtype or a[name].tobytes() != b[name].tobytes():
                slots = [slot for slot, (x, y) in enumerate(zip(a[name], b[name], strict=True)) if (x != y).any()]
                raise AssertionError(f"recv {index}: {name} differs in rows {slots}")


def reference(env: Any, n_envs: int, steps: int, *, seed: int = 5, n_groups: int = 1, **options: Any) -> list[Row]:
    """Return the play of a serial pool."""
    with make_pool(env, n_envs, n_workers=0, seed=seed, n_groups=n_groups, **options) as pool:
        pool.reset()
        return play(pool, steps)


def until(fact: Callable[[], bool], deadline_s: float = 20.0, what: str = "the fact") -> None:
    """Wait for a fact."""
    end = time.monotonic() + deadline_s
    while not fact():
        assert time.monotonic() < end, f"{what} did not come true in {deadline_s} s"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    """Return whether a process has ended (a zombie has)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _is_helper(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        line = " ".join(process.cmdline())
        return "resource_tracker" in line or "forkserver" in line
    return True


def own_processes() -> list[psutil.Process]:
    """Return the live processes below this one, without multiprocessing's two helpers."""
    direct = psutil.Process().children()
    found = [child for child in direct if not _is_helper(child)]
    for helper in direct:
        with contextlib.suppress(psutil.Error):
            found += helper.children(recursive=True) if _is_helper(helper) else []
    return [process for process in found if not gone(process.pid)]


def own_blocks() -> list[Path]:
    """Return the shared files this process has made and not removed."""
    return list(Path("/dev/shm").glob(f"parcade-{os.getpid()}-*.block"))


def open_files() -> set[tuple[str, str]]:
    """Return the descriptors this process holds and what each stands for, without what awaits its collection."""
    gc.collect()  # a mapping holds a descriptor until its last array is gone
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
    return found


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail a test that leaves a process, a shared file or a file descriptor behind."""
    if not hasattr(no_leaks, "warm"):
        make_pool(Toy, 1, n_workers=1).close()  # multiprocessing's helpers keep descriptors of their own
        no_leaks.warm = True  # type: ignore[attr-defined]
    files = open_files()
    yield
    until(lambda: not own_processes(), what="the end of all workers")
    left = open_files()
    assert own_blocks() == []
    assert len(left) <= len(files), f"still open: {left - files}"  # fewer: something of an earlier test's is gone
