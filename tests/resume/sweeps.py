"""A small sweep that trains in seconds, and what of it must be the same whatever was killed."""

from __future__ import annotations

import json
from pathlib import Path

TEXT = """
name: small
fixed: {env_id: CartPole-v1, total_timesteps: 1024, n_envs: 2, n_steps: 32, n_workers: 0, save_freq: 192}
settings:
  learning_rate: {float: [1e-4, 1e-2], log: true}
  n_epochs: {int: [1, 4]}
  gamma: {float: [0.9, 0.999], when: {n_epochs: [2, 3, 4]}}
  hidden: [[16], [32, 32]]
objective: {metric: rollout/ep_rew_mean, min_episodes: 5}
pruning: {halving: {first: 256, factor: 2}}
sampler: {kind: tpe, startup: 2}
budget: {n_trials: 5}
"""


def written(folder: Path, text: str = TEXT) -> str:
    path = folder / "small.yaml"
    path.write_text(text)
    return str(path)


def rows(run: Path):
    """Return a run's rows without times: those are never the same."""
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "time"} for row in found]


def results(sweep):
    """Return what must not depend on kills: every trial's settings, scores and values, and every run's rows."""
    trials = [
        (trial.number, trial.point, trial.state, trial.target, trial.scores, trial.values, trial.env_steps)
        for trial in sweep.trials()
    ]
    return trials, [rows(sweep.path_of(number)) for number in range(len(trials))]
