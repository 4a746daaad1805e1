"""Many games for a long time with nobody disturbing them: no crash, no leak, the same numbers for any workers.

A pool for each number of workers takes the same steps, one pool after the other. The first decides how many.
"""

from __future__ import annotations

import os
import time
from typing import Any

from parcade.bench.machine import machine, rss_mb
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.soak import REPORT_EVERY_S, RSS_NOISE_MB, checksum, growth, n_open_files
from parcade.bench.soak_actions import Driver, SaveCount, soak_spec
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool


def endure(
    game: str = "lantern",
    *,
    minutes: float = 10.0,
    n_envs: int = 64,
    n_workers: tuple[int, ...] = (),
    observation: str = "pixels",
    max_env_steps: int | None = None,
    seed: int = 0,
    rom: str | None = None,
    state: str | None = None,
    say: Say = tell_stderr,
) -> dict[str, Any]:
    """Run each number of workers (0: all games in this process) in turn and compare everything they returned."""
    if minutes <= 0 or n_envs < 1 or (max_env_steps is not None and max_env_steps < 1):
        raise SettingsError("minutes, steps and n_envs must be above 0")
    counts = n_workers or (usable_cores(),)
    spec = soak_spec(game, observation=observation, rom=rom, state=state)
    runs: list[dict[str, Any]] = []
    for count in counts:
        say(f"{game}: {n_envs} games, {f'{count} workers' if count else 'all in this process'}")
        with _open_pool(spec, n_envs, count, seed) as pool:
            runs.append(_run(pool, Driver(spec, n_envs, seed), minutes * 60, max_env_steps, say))
        max_env_steps, minutes = runs[0]["env_steps"], float("inf")  # the others must come to the very same step
    equal = len({run["checksum"] for run in runs}) == 1
    passed = equal and not any(run["deaths"] for run in runs) and all(run["rss_flat"] for run in runs)
    result = {"bench": "soak", "kills": False, "game": spec.label, "observation": observation, "n_envs": n_envs}
    return {**result, "runs": runs, "checksums_equal": equal, "passed": passed, "machine": machine()}


def _open_pool(spec: EnvSpec, n_envs: int, n_workers: int, seed: int) -> ProcessPool | SerialPool:
    groups = min(2, n_envs)
    if n_workers == 0:
        return SerialPool(spec, n_envs, seed=seed, n_groups=groups)
    return ProcessPool(spec, n_envs, n_workers=n_workers, seed=seed, n_groups=groups)


def _run(
    pool: ProcessPool | SerialPool, driver: Driver, seconds: float, max_env_steps: int | None, say: Say
) -> dict[str, Any]:
    pool.reset()
    files, steps, episodes, running = n_open_files(), 0, 0, 0
    saves = SaveCount(pool.metric_names)
    memory: list[float] = []  # of this process and all workers, MB
    started = next_report = time.monotonic()
    while time.monotonic() - started < seconds and (max_env_steps is None or steps < max_env_steps):
        for group, slots in enumerate(pool.progress.slots):
            pool.send(driver.actions(slots), group)
        for group, slots in enumerate(pool.progress.slots):
            rows = pool.recv(group)
            running = checksum(rows, running)
            episodes += int((rows.terminated | rows.truncated).sum())
            saves.add(rows)
            steps += len(slots)
        if time.monotonic() >= next_report:
            next_report = time.monotonic() + REPORT_EVERY_S
            memory.append(_all_mb(pool))
            since = time.monotonic() - started
            say(
                f"{since:6.0f} s  {steps:>10,} env steps  {episodes:>7,} episodes  {saves.ended:>6,} saves  "
                f"{len(pool.restarts)} deaths  checksum {running:08x}  {memory[-1]:.0f} MB"
            )
    lasted = time.monotonic() - started
    memory.append(_all_mb(pool))
    return {
        "n_workers": pool.n_workers,
        "seconds": lasted,
        "env_steps": steps,
        "steps_per_s": steps / lasted,
        "episodes": episodes,
        "saves": saves.total(pool),
        "deaths": len(pool.restarts),
        "checksum": f"{running:08x}",
        "start_mb": memory[len(memory) // 4],
        "end_mb": memory[-1],
        "rss_flat": growth(memory) < RSS_NOISE_MB,
        "fds_start": files,
        "fds_end": n_open_files(),
    }


def _all_mb(pool: ProcessPool | SerialPool) -> float:
    workers = pool.worker_pids if isinstance(pool, ProcessPool) else []
    return rss_mb(os.getpid()) + sum(rss_mb(pid) for pid in workers)
