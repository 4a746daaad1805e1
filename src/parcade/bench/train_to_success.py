"""Wall time until Lantern is learned: our defaults, then SB3's own."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from typing import Any

import torch

from parcade.bench.machine import machine
from parcade.bench.peers import sb3_dummy
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.train_speed import NO_EXTRAS
from parcade.config.settings import TrainSettings
from parcade.env.spec import EnvSpec
from parcade.host.cores import usable_cores
from parcade.run.directory import RunFolder
from parcade.train.events import Event, Updated
from parcade.train.training import Training

SB3_ENVS = 16  # of SB3 with its own defaults, which name no number of envs


def bench_to_success(
    *, minutes: float = 20.0, success: float = 0.9, observation: str = "features", say: Say = tell_stderr
) -> dict[str, Any]:
    """Train Lantern with our defaults, then with SB3's, each until it succeeds or ``minutes`` have passed.

    Success is the share of the last 100 training episodes that cleared the dungeon, for both alike; the time counts
    from before the envs are opened.
    """
    ours = _ours_to_success(minutes * 60, success, observation, say)
    theirs = _sb3_to_success(minutes * 60, success, observation, say)
    ratio = None
    if theirs is not None and ours["reached"]:
        ratio = theirs["seconds"] / ours["seconds"]  # a lower bound where SB3 did not get there in time
    return {
        "bench": "train",
        "to_success": success,
        "observation": observation,
        "minutes": minutes,
        "ours": ours,
        "sb3": theirs,
        "times_shorter": ratio,
        "times_shorter_is_lower_bound": bool(theirs and not theirs["reached"]),
        "machine": machine(),
    }


def _ours_to_success(seconds: float, success: float, observation: str, say: Say) -> dict[str, Any]:
    from parcade.train.given import settings_for

    started, last, reached = time.perf_counter(), {"env_steps": 0, "success_rate": None}, False

    def watch(event: Event) -> None:
        nonlocal last, reached
        if not isinstance(event, Updated) or reached:
            return
        row = event.row
        last, elapsed = row, time.perf_counter() - started
        enough = row["success_rate"] is not None and row["success_rate"] >= success and row["episodes"] >= 100
        if row["update"] % 10 == 0 or enough:
            say(f"ours  {elapsed:6.0f} s  step {row['env_steps']:>9,}  success {row['success_rate'] or 0:.2f}")
        if enough or elapsed > seconds:
            reached = enough
            ended.append(elapsed)
            training.request_stop()

    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        given = {"game": "lantern", "observation": observation, "log_root": folder, **NO_EXTRAS}
        settings: TrainSettings = settings_for(given)
        with Training(settings, RunFolder.create(folder, "ours"), watch) as training:
            training.begin()
            training.run()
    elapsed = ended[0] if ended else time.perf_counter() - started
    return {
        "seconds": elapsed,
        "env_steps": last["env_steps"],
        "success_rate": last["success_rate"],
        "reached": reached,
    }


def _sb3_to_success(seconds: float, success: float, observation: str, say: Say) -> dict[str, Any] | None:
    if not importlib.util.find_spec("stable_baselines3"):
        return None
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Watch(BaseCallback):
        """Counts successes of the last 100 episodes and stops the training."""

        def __init__(self) -> None:
            super().__init__()
            self.outcomes: list[bool] = []
            self.reached = False

        @property
        def rate(self) -> float:
            return statistics.fmean(self.outcomes[-100:]) if self.outcomes else 0.0

        def _on_step(self) -> bool:
            self.outcomes += [info["is_success"] for info in self.locals["infos"] if "is_success" in info]
            self.reached = len(self.outcomes) >= 100 and self.rate >= success
            return not self.reached and time.perf_counter() - started < seconds

        def _on_rollout_end(self) -> None:
            elapsed = time.perf_counter() - started
            say(f"sb3   {elapsed:6.0f} s  step {self.num_timesteps:>9,}  success {self.rate:.2f}")

    torch.set_num_threads(usable_cores())
    started = time.perf_counter()
    vector_env = sb3_dummy(EnvSpec(game="lantern", observation=observation), SB3_ENVS)
    try:
        watch = Watch()
        policy = "MlpPolicy" if observation == "features" else "CnnPolicy"
        model = PPO(policy, vector_env, device="cpu")
        model.learn(1 << 40, callback=watch)
        elapsed = time.perf_counter() - started
    finally:
        vector_env.close()
    return {
        "name": f"sb3 PPO, its own defaults, DummyVecEnv of {SB3_ENVS}",
        "seconds": elapsed,
        "env_steps": int(model.num_timesteps),
        "success_rate": watch.rate,
        "reached": watch.reached,
    }
