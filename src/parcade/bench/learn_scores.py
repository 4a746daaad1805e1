"""Does it learn, and as well as SB3's PPO? Fixed budgets, several seeds, both trainers measured in one run.

Both trainers get the same env, network, settings and number of steps. The same function evaluates both on the same
held-out seeds. What is done stands in a results file, so that a long bench can be interrupted and gone on with.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from parcade.bench.learn_tasks import TASKS, Task
from parcade.bench.learn_trainers import Tell, Trained, peer_installed, play, settings_of, train_ours, train_peer
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.errors import SettingsError, did_you_mean
from parcade.run.directory import write_json

TELL_EVERY_S = 15.0
NOISE = 2.0  # ours may be below the peer by so many standard errors of the difference
FLOOR = 0.01  # or by this share of the task's reach
Scores = Mapping[str, Any]  # of one trainer: mean, std, seeds, seconds


def bench_learn(
    tasks: Sequence[str] = (),
    *,
    seeds: int = 3,
    budget: float = 1.0,
    peers: bool = True,
    overlap: bool = False,
    out: str | Path | None = None,
    table: Mapping[str, Task] | None = None,
    say: Say = tell_stderr,
) -> dict[str, Any]:
    """Run the tasks one after another; the keys stand in docs/bench.md."""
    table = table or TASKS
    for name in tasks:
        if name not in table:
            raise SettingsError(
                f"bench learn has no task {name!r}{did_you_mean(name, table)}; it has {', '.join(table)}"
            )
    if seeds < 1 or budget <= 0:
        raise SettingsError(f"bench learn needs 1 seed or more and a budget above 0, got {seeds} and {budget:g}")
    kept = Kept(Path(out) if out else None)
    results = [_run_task(name, table[name], seeds, budget, peers, overlap, kept, say) for name in tasks or table]
    return {
        "bench": "learn",
        "tasks": results,
        "seeds": seeds,
        "budget": budget,
        "rule": f"not below the peer by more than {NOISE:g} standard errors of the difference or "
        f"{FLOOR:.0%} of the task's reach, whichever is more; a task with a threshold reaches it, and stays "
        "below another one without memory or masks",
        "machine": machine(),
        "passed": all(result["passed"] for result in results),
    }


class Kept:
    """The results file: one entry for each training that was finished and evaluated."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._runs: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        if not path.parent.is_dir():
            raise SettingsError(f"the folder of {path} does not exist")
        if path.exists():
            self._runs = _read(path)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what was measured before under the very same settings."""
        return self._runs.get(key)

    def put(self, key: str, run: dict[str, Any]) -> None:
        """Note a run, on disk too."""
        self._runs[key] = run
        if self._path is not None:
            write_json(self._path, {"bench": "learn", "runs": self._runs})


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        runs: dict[str, dict[str, Any]] = data["runs"]
        if data["bench"] != "learn" or not all("score" in run for run in runs.values()):
            raise KeyError("bench")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SettingsError(f"{path} holds no results of bench learn; name another file with --out") from None
    return runs


def _run_task(
    name: str, task: Task, seeds: int, budget: float, peers: bool, overlap: bool, kept: Kept, say: Say
) -> dict[str, Any]:
    env_steps = scaled_steps(task, budget)
    trainers: dict[str, Callable[[int, Tell], Trained]] = {
        "ours": lambda seed, tell: train_ours(task, {}, seed, env_steps, tell)
    }
    if peers and peer_installed(task):
        trainers["sb3"] = lambda seed, tell: train_peer(task, seed, env_steps, tell)
    if overlap:
        trainers["overlap"] = lambda seed, tell: train_ours(task, {"overlap": True}, seed, env_steps, tell)
    if task.without:
        trainers["without"] = lambda seed, tell: train_ours(task, task.without, seed, env_steps, tell)
    runs: dict[str, list[dict[str, Any]]] = {trainer: [] for trainer in trainers}
    for seed in range(seeds):
        for trainer, train in trainers.items():
            key = _key(name, task, trainer, seed, env_steps)
            run = kept.get(key)
            if run is not None:
                say(f"{name} seed {seed} {trainer}: {run['score']:.3f}, measured before")
            else:
                run = _one_run(f"{name} seed {seed} {trainer}", task, trainer, partial(train, seed), say)
                kept.put(key, run)
            runs[trainer].append(run)
    return _judged(name, task, env_steps, {trainer: _summed(found) for trainer, found in runs.items()})


def scaled_steps(task: Task, budget: float) -> int:
    """Return the budget in whole rollouts, at least one."""
    rows = settings_of(task, {}, 0, task.env_steps).rows_per_update
    return max(1, round(task.env_steps * budget / rows)) * rows


def _key(name: str, task: Task, trainer: str, seed: int, env_steps: int) -> str:
    """Return a name that changes with everything that decides the numbers."""
    facts = json.dumps({**asdict(task), "published": None, "env_steps": env_steps}, sort_keys=True)
    return f"{name}/{trainer}/{seed}/{hashlib.sha256(facts.encode()).hexdigest()[:12]}"


def _one_run(label: str, task: Task, trainer: str, train: Callable[[Tell], Trained], say: Say) -> dict[str, Any]:
    next_s = time.monotonic() + TELL_EVERY_S

    def tell(env_steps: int) -> None:
        nonlocal next_s
        if time.monotonic() >= next_s:
            next_s = time.monotonic() + TELL_EVERY_S
            say(f"{label}: step {env_steps:,}")

    trained = train(tell)
    score = play(trained.actor, task.spec(task.without if trainer == "without" else None), task)
    say(f"{label}: {score:.3f} after {trained.env_steps:,} steps in {trained.seconds:.0f} s")
    return {"score": score, "env_steps": trained.env_steps, "seconds": trained.seconds, "machine": machine()}


def _summed(runs: list[dict[str, Any]]) -> dict[str, Any]:
    scores = [run["score"] for run in runs]
    return {
        "mean": statistics.fmean(scores),
        "std": statistics.stdev(scores) if len(scores) > 1 else 0.0,
        "seeds": scores,
        "seconds": statistics.fmean(run["seconds"] for run in runs),
    }


def _judged(name: str, task: Task, env_steps: int, scores: dict[str, dict[str, Any]]) -> dict[str, Any]:
    faults = verdict(task, scores)
    theirs, without = scores.get("sb3"), scores.get("without")
    return {
        "task": name,
        "env_steps": env_steps,
        "score": task.score,
        "deterministic": task.deterministic,
        "ours": scores["ours"],
        "sb3": {"name": task.peer, **theirs} if theirs else None,
        "overlap": scores.get("overlap"),
        "without": {"changed": dict(task.without), **without} if without else None,
        "published": asdict(task.published) if task.published else None,
        "faults": faults,
        "passed": not faults,
    }


def verdict(task: Task, scores: Mapping[str, Scores]) -> list[str]:
    """Return what speaks against us, in words; nothing if the task is passed."""
    ours, theirs, without = scores["ours"], scores.get("sb3"), scores.get("without")
    faults = []
    if theirs is not None and ours["mean"] < theirs["mean"] - margin(task, ours, theirs):
        faults.append(f"{ours['mean']:.3f} is below {task.peer}'s {theirs['mean']:.3f} beyond noise")
    if task.at_least is not None and ours["mean"] < task.at_least:
        faults.append(f"{ours['mean']:.3f} is below the wanted {task.at_least:g}")
    if without is not None and task.without_at_most is not None and without["mean"] > task.without_at_most:
        faults.append(f"without it {without['mean']:.3f} is reached, more than {task.without_at_most:g}")
    return faults


def margin(task: Task, ours: Scores, theirs: Scores) -> float:
    """Return how far ours may lie below: noise of the difference, but never less than a hundredth of the reach."""
    variance = sum(scores["std"] ** 2 / len(scores["seeds"]) for scores in (ours, theirs))
    return max(NOISE * math.sqrt(variance), FLOOR * task.reach)
