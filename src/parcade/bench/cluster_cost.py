"""What a cluster costs and brings: one node beside none, two nodes beside one on twice the games."""

from __future__ import annotations

import contextlib
import json
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.bench.cluster_kills import bench_kills
from parcade.bench.cluster_nodes import LocalCluster, pinned
from parcade.bench.interleave import Contender, interleave, median_ratio
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.rllib_peer import RllibTurns, RllibUnavailableError
from parcade.bench.scale_model import Load, Network, efficiency
from parcade.bench.turns import TrainingTurns
from parcade.cluster.connection import connected
from parcade.cluster.gradient_part import bytes_per_step, sends_whole
from parcade.cluster.opening import RayMachines
from parcade.config.settings import TrainSettings, make_settings
from parcade.env.spec import EnvSpec
from parcade.learn.flat import flat_size
from parcade.run.archive import read_archive
from parcade.run.directory import RunFolder
from parcade.train.results import TrainResult
from parcade.train.spread.messages import Holding
from parcade.train.start import train

if TYPE_CHECKING:
    from parcade.cluster.crew import RayCrew

Rates = dict[str, list[float]]
CASES: dict[str, dict[str, Any]] = {
    "features-mlp": {"game": "lantern", "n_envs": 16, "n_steps": 128, "batch_size": 512},
    "small-cnn": {"game": "lantern", "observation": "pixels", "n_envs": 16, "n_steps": 64, "batch_size": 256},
}
_UNTOLD = {
    **{"total_timesteps": 10**12, "eval_freq": 0, "save_freq": 0, "final_eval_episodes": 0, "video": False},
    **{"num_threads": 1, "episodes_mb": 0},
}
LEFT_OUT: tuple[dict[str, Any], Rates] = {"ratio": None, "reason": "left out"}, {}
LOOPBACK = Network(latency_s=1e-4, bytes_per_s=1e9, failures_per_hour=0.0)  # two nodes of one machine
SAME = {
    **{"game": "lantern", "n_envs": 8, "n_steps": 16, "max_steps": 24, "batch_size": 32, "shards": 4, "seed": 3},
    **{"total_timesteps": 512, "eval_freq": 0, "final_eval_episodes": 4, "video": False, "save_freq": 0},
}


def bench_cluster(
    cases: tuple[str, ...] = tuple(CASES),
    *,
    rounds: int = 5,
    seconds: float = 8.0,
    kills: int = 0,
    with_rllib: bool = True,
    say: Say = tell_stderr,
) -> dict[str, Any]:
    """Measure; the keys stand in docs/bench.md."""
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster() as cluster:
            for core in range(2):
                cluster.add(4, core=core)  # Ray's books say 4: several trainings are open at once
            with connected(cluster.address):
                same = _same_bits(Path(folder), say)
                found = [_measure(case, rounds, seconds, Path(folder), with_rllib, say) for case in cases]
        killed = bench_kills(kills, Path(folder), say) if kills else None
    passed = all(same.values()) and (killed is None or killed["same"])
    return {"same_bits": same, "cases": found, "kills": killed, "machine": machine(), "passed": passed}


def _same_bits(folder: Path, say: Say) -> dict[str, bool]:
    """Return whether each way of holding four shards ends in the bits of one process."""
    ways: dict[str, dict[str, Any]] = {
        "one process": {"n_workers": 0},
        "learners 2": {"learners": 2, "n_workers": 2},
        "2 nodes": {"cluster": "auto", "n_workers": 4},
        "2 nodes, learners 2": {"cluster": "auto", "learners": 2, "n_workers": 2},
    }
    found = {}
    for name, way in ways.items():
        settings = make_settings({**SAME, **way, "log_root": str(folder / name), "run_name": "same"})
        found[name] = outcome(train(settings, machines=RayMachines()))
        say(f"same bits  {name}")
    first = found["one process"]
    return {name: one == first for name, one in found.items()}


def outcome(result: TrainResult) -> tuple[str, str, dict[str, bytes]]:
    """Return everything of a run that must not depend on where it ran: metrics, evaluation, weights."""
    lines = [json.loads(line) for line in (Path(result.run_dir) / "metrics.jsonl").read_text().splitlines()]
    told = json.dumps([{name: value for name, value in line.items() if name != "time"} for line in lines])
    judged = {name: value for name, value in (result.evaluation or {}).items() if name != "seconds"}
    weights = read_archive(Path(result.model), "model")[1]["weights"]
    return told, json.dumps(judged), {name: array.tobytes() for name, array in weights.items()}


@dataclass(frozen=True)
class KeptMachines(RayMachines):
    """Keeps the crews, to ask them for what they have sent."""

    crews: list[RayCrew] = field(default_factory=list)

    def open_crew(self, spec: EnvSpec, settings: TrainSettings, holdings: list[Holding]) -> RayCrew:
        """Return learners on the nodes."""
        self.crews.append(RayMachines.open_crew(self, spec, settings, holdings))
        return self.crews[-1]


class ApartTurns:
    """Two trainings that exchange nothing, a node for each: what the two cores give when both work."""

    def __init__(self, settings: TrainSettings, folder: Path, stack: ExitStack) -> None:
        self._turns = [
            TrainingTurns(settings, RunFolder.create(str(folder), f"apart-{job}"), stack, RayMachines(job, 2))
            for job in range(2)
        ]

    def turn(self, seconds: float) -> float:
        """Have both play and learn for about ``seconds``; return the steps per second of both together."""
        with ThreadPoolExecutor(len(self._turns)) as threads:
            rates = list(threads.map(lambda turns: turns.turn(seconds), self._turns))
        return float(sum(rates))

    def close(self) -> None:
        """Do nothing: who opened the stack closes it."""


class PinnedTurns(TrainingTurns):
    """A training without a cluster, on one core with its worker."""

    def turn(self, seconds: float) -> float:
        """Play and learn for about ``seconds``; return steps per second."""
        with pinned(0):
            return super().turn(seconds)


def _measure(case: str, rounds: int, seconds: float, folder: Path, with_rllib: bool, say: Say) -> dict[str, Any]:
    say(f"{case}")
    one = _settings(case, 1)
    two = _settings(case, 2)
    with ExitStack() as stack:
        with pinned(0):
            plain = PinnedTurns(one, RunFolder.create(str(folder), f"{case}-plain"), stack)
        over_ray = one.model_copy(update={"cluster": "auto"})
        machines = KeptMachines()
        contenders: dict[str, Any] = {
            "plain": plain,
            "1 node": TrainingTurns(over_ray, RunFolder.create(str(folder), f"{case}-1"), stack, machines),
            "2 nodes": TrainingTurns(two, RunFolder.create(str(folder), f"{case}-2"), stack, machines),
            "2 nodes apart": ApartTurns(over_ray, folder / case, stack),
        }
        sizes = flat_size(plain.training.policy.parameters())
        rates = interleave(contenders, rounds, seconds, say)
        sent = machines.crews[-1].bytes_per_update(0)
        load = _load(contenders["1 node"], one, sizes)
        # Only now: RLlib's processes take a part of both cores even while it is not their turn.
        rllib, beside = _rllib_beside(contenders["2 nodes"], case, rounds, seconds, say) if with_rllib else LEFT_OUT
        rates.update(beside)
    return {
        "case": case,
        "efficiency": median_ratio(rates["2 nodes"], [2 * rate for rate in rates["1 node"]]),
        "efficiency_apart": median_ratio(rates["2 nodes apart"], [2 * rate for rate in rates["1 node"]]),
        "overhead": 1.0 - median_ratio(rates["1 node"], rates["plain"]),
        "bytes_per_update": {"measured": sent, "theory": _theory(two, sizes), "weights": sizes},
        "rllib": rllib,
        "load": asdict(load),
        "model_efficiency": efficiency(2, load, LOOPBACK),
        "steps_per_s": {name: statistics.median(found) for name, found in rates.items()},
    }


def _rllib_beside(ours: Contender, case: str, rounds: int, seconds: float, say: Say) -> tuple[dict[str, Any], Rates]:
    """Return how many times as fast two nodes of ours are as RLlib with their games and rows, or why nobody knows."""
    try:
        rllib = RllibTurns(_games(case, 2), n_runners=2)
    except RllibUnavailableError as error:
        return {"ratio": None, "reason": str(error)}, {}
    with contextlib.closing(rllib):
        rates = interleave({"2 nodes": ours, "rllib": rllib}, rounds, seconds, say)
    found = {"ratio": median_ratio(rates["2 nodes"], rates["rllib"]), "reason": None}
    return found, {"2 nodes beside rllib": rates["2 nodes"], "rllib": rates["rllib"]}


def _games(case: str, nodes: int) -> dict[str, Any]:
    """Return the games and rows of one node, or so many times of it."""
    own = CASES[case]
    return {**own, "n_envs": own["n_envs"] * nodes, "batch_size": own["batch_size"] * nodes}


def _settings(case: str, nodes: int) -> TrainSettings:
    """Return the settings of one node, or of several with so many times its games and rows."""
    spread = {"shards": nodes, "cluster": "auto"} if nodes > 1 else {}
    return make_settings({**_games(case, nodes), **_UNTOLD, "n_workers": nodes, **spread})


def _load(turns: TrainingTurns, settings: TrainSettings, n_weights: int) -> Load:
    """Return what a node has to do for an update, as it was measured on one."""
    steps = settings.n_epochs * settings.rows_per_update // settings.batch_size
    return Load(turns.play_s / turns.updates, turns.learn_s / turns.updates, steps, n_weights)


def _theory(settings: TrainSettings, n_weights: int) -> int:
    """Return what one learner should send for the gradients of an update."""
    steps = settings.n_epochs * settings.rows_per_update // settings.batch_size
    whole = sends_whole(n_weights, settings.shards, 1)
    return steps * bytes_per_step(n_weights, settings.shards, 1, whole)
