"""RLlib's PPO on the same env, network and cores, in a process of its own with a Ray of its own.

RLlib is no dependency. Where it does not start, the bench says why: `pip install 'ray[rllib]'` is what it needs.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from parcade.errors import RunError

START_S, ENDING_S = 300.0, 60.0
_MODULE = "parcade.bench.rllib_peer"


class RllibUnavailableError(RunError):
    """RLlib's PPO cannot be measured here; the text says why."""


class RllibTurns:
    """RLlib in a child that is asked for one turn at a time; between two turns it does nothing."""

    def __init__(self, given: dict[str, Any], n_runners: int) -> None:
        words = [sys.executable, "-m", _MODULE, json.dumps({"settings": given, "n_runners": n_runners})]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        self._child = subprocess.Popen(words, text=True, start_new_session=True, **pipes)
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, name="parcade rllib", daemon=True).start()
        try:
            self._answer(START_S)
        except BaseException:
            self.close()
            raise

    def turn(self, seconds: float) -> float:
        """Play and learn for about ``seconds``; return steps per second."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{seconds}\n")
        self._child.stdin.flush()
        return float(self._answer(START_S + 10 * seconds)["rate"])

    def _read(self) -> None:
        """Hand over what the child says; None is its end."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith("{"):
                self._lines.put(line)
        self._lines.put(None)

    def _answer(self, patience_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=patience_s)
        except queue.Empty:
            raise RllibUnavailableError(f"it did not answer in {patience_s:g} s") from None
        if line is not None:
            told: dict[str, Any] = json.loads(line)
            return told
        self._child.wait(START_S)
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        raise RllibUnavailableError(lines[-1][:300] if lines else f"it ended with code {self._child.returncode}")

    def close(self) -> None:
        """End the child and its Ray; twice is fine."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._child.kill()  # its Ray ends with it
            self._child.wait()
        self._errors.close()


def _algorithm(given: dict[str, Any], n_runners: int) -> Any:
    """Return RLlib's PPO with the settings of ours."""
    from ray.rllib.algorithms import ppo
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.tune.registry import register_env

    from parcade.bench.peers import LeanEnv
    from parcade.bench.rllib_network import SameNetwork
    from parcade.config.settings import make_settings
    from parcade.train.given import env_spec

    settings = make_settings(given)
    spec = env_spec(settings)
    register_env("same", lambda _: LeanEnv(spec))
    untyped: Any = ppo
    config = untyped.PPOConfig().environment("same").framework("torch").debugging(log_level="ERROR", seed=settings.seed)
    config = config.env_runners(
        num_env_runners=n_runners,
        num_envs_per_env_runner=settings.envs // n_runners,
        rollout_fragment_length=settings.n_steps,
        num_cpus_per_env_runner=1,
    )
    config = config.learners(num_learners=0).rl_module(rl_module_spec=RLModuleSpec(module_class=SameNetwork))
    config = config.training(
        train_batch_size_per_learner=settings.rows_per_update,
        minibatch_size=settings.batch_size,
        num_epochs=settings.n_epochs,
        lr=settings.learning_rate,
        gamma=settings.gamma,
        lambda_=settings.gae_lambda,
        clip_param=settings.clip_range,
        vf_loss_coeff=settings.vf_coef,
        entropy_coeff=settings.ent_coef,
        grad_clip=settings.max_grad_norm,
        use_kl_loss=False,
    )
    return config.build_algo()


def _turn(algorithm: Any, seconds: float) -> float:
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        steps += int(algorithm.train()["env_runners"]["num_env_steps_sampled"])
    return steps / (time.perf_counter() - started)


def main() -> None:
    """Answer a line with seconds by a turn, until there are no more lines."""
    from parcade.cluster.connection import ray_module

    given = json.loads(sys.argv[1])
    n_runners = given["n_runners"]
    os.environ.pop("RAY_ADDRESS", None)
    os.environ["PYTHONWARNINGS"] = "ignore"
    os.environ["RAY_AUTH_MODE"] = (
        "disabled"  # a cluster of this process alone; else Ray leaves a token in the home folder
    )
    if hasattr(os, "sched_setaffinity"):  # the cores that the nodes of our own have
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_runners])
    ray = ray_module()
    with tempfile.TemporaryDirectory(prefix="pr-") as folder:
        os.environ["RAY_TMPDIR"] = folder
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "FATAL"}
        ray.init("local", num_cpus=n_runners + 1, object_store_memory=200 << 20, **quiet)
        try:
            import torch

            torch.set_num_threads(1)
            algorithm = _algorithm(given["settings"], n_runners)
            print(json.dumps({"ready": True}), flush=True)
            for line in sys.stdin:
                print(json.dumps({"rate": _turn(algorithm, float(line))}), flush=True)
            algorithm.stop()
        finally:
            ray.shutdown()


if __name__ == "__main__":
    main()
