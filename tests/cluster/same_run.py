"""Runs that must be the same to the bit, and how that is seen."""

import json
from pathlib import Path

from parcade.run.archive import read_archive

LANTERN = {"game": "lantern", "n_envs": 8, "n_steps": 8, "max_steps": 11, "batch_size": 16}
PENDULUM = {"env_id": "Pendulum-v1", "n_envs": 8, "n_steps": 8, "batch_size": 16}
COMMON = {
    **{"seed": 3, "total_timesteps": 384, "lr_schedule": "constant", "save_freq": 64, "shards": 4},
    **{"eval_freq": 0, "final_eval_episodes": 0, "video": False, "run_name": "r"},
}
CASES = {
    "features": {**LANTERN, "target_kl": 0.001, "eval_freq": 128, "n_eval_episodes": 2, "final_eval_episodes": 3},
    "pictures": {**LANTERN, "observation": "pixels", "shift_pixels": 2},
    "memory": {**LANTERN, "lstm": 12},
    "scales": {**PENDULUM, "normalize_obs": True, "normalize_return": True},
}


def numbers(run):
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def same_bits(one, other):
    assert numbers(one.run_dir) == numbers(other.run_dir)
    assert _plain(one.evaluation) == _plain(other.evaluation)
    first, second = (read_archive(Path(run.model), "model")[1]["weights"] for run in (one, other))
    assert {name: array.tobytes() for name, array in first.items()} == {
        name: array.tobytes() for name, array in second.items()
    }


def _plain(evaluation):
    return evaluation and {name: value for name, value in evaluation.items() if name != "seconds"}
