"""Nodes are killed at random while a training goes on; the run must end in the bits of one that was left alone."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from parcade.bench.cluster_nodes import LocalCluster
from parcade.bench.progress import Say
from parcade.cluster.opening import RayMachines
from parcade.config.settings import make_settings
from parcade.train.events import Event, Updated
from parcade.train.results import TrainResult
from parcade.train.start import train

_SETTINGS: dict[str, Any] = {
    **{"game": "lantern", "n_envs": 8, "n_steps": 16, "max_steps": 64, "batch_size": 32, "shards": 2, "seed": 5},
    **{"n_workers": 2, "eval_freq": 0, "final_eval_episodes": 4, "video": False, "save_freq": 0, "run_name": "run"},
}
_APART = 3  # updates from one kill to the next, so that the budget of deaths in a row is never the reason to end


class Killer:
    """Listens to a training; every few updates a node dies, and another one joins."""

    def __init__(self, cluster: LocalCluster, kills: int, say: Say) -> None:
        self._cluster, self._kills, self._say, self._chance = cluster, kills, say, random.Random(7)
        self._living = [cluster.add(1) for _ in range(2)]
        self.done = 0

    def __call__(self, event: Event) -> None:
        """Kill after some updates, at once or a moment later in the update that follows."""
        if not isinstance(event, Updated) or event.row["update"] % _APART or self.done == self._kills:
            return
        time.sleep(self._chance.random() * 0.05)
        self._living.append(self._cluster.add(1))
        victim = self._living.pop(self._chance.randrange(len(self._living)))
        self._cluster.kill(victim)
        self.done += 1
        self._say(f"kill {self.done} of {self._kills}  after update {event.row['update']}")


def bench_kills(kills: int, folder: Path, say: Say) -> dict[str, Any]:
    """Return how a training fared under random kills of nodes, beside one that was left alone."""
    from parcade.bench.cluster_cost import outcome

    rows = _SETTINGS["n_envs"] * _SETTINGS["n_steps"]
    settings = {**_SETTINGS, "total_timesteps": rows * (kills + 1) * _APART}
    alone = train(make_settings({**settings, "log_root": str(folder / "alone")}))
    with LocalCluster() as cluster:
        cluster.add(0)  # holds the trainer and no learner; it is never killed
        killer = Killer(cluster, kills, say)
        started = time.perf_counter()
        spread = {"cluster": cluster.address, "cluster_wait": 120.0, "log_root": str(folder / "killed")}
        hit: TrainResult = train(make_settings({**settings, **spread}), on_event=killer, machines=RayMachines())
    return {
        "kills": killer.done,
        "restarts": hit.worker_restarts,
        "same": outcome(alone) == outcome(hit),
        "seconds": time.perf_counter() - started,
    }
