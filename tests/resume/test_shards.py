"""Shards: numbers depend on how many there are, never on workers and breaks; together they learn what one learns."""

import json
from pathlib import Path

import numpy as np
import pytest

from parcade import resume, train
from parcade.errors import SettingsError
from parcade.run.archive import read_archive
from parcade.run.checkpoint import load_newest

LANTERN = {"game": "lantern", "n_envs": 8, "n_steps": 8, "max_steps": 11, "batch_size": 16}
PENDULUM = {"env_id": "Pendulum-v1", "n_envs": 8, "n_steps": 8, "batch_size": 16}
CASES = {
    "features": {**LANTERN, "target_kl": 0.001},
    "pictures": {**LANTERN, "observation": "pixels", "shift_pixels": 2},
    "memory": {**LANTERN, "lstm": 12, "overlap": True},
    "scales": {**PENDULUM, "normalize_obs": True, "normalize_return": True},
}
COMMON = {
    **{"seed": 3, "total_timesteps": 384, "lr_schedule": "constant", "save_freq": 64, "shards": 4},
    **{"eval_freq": 0, "final_eval_episodes": 0, "video": False, "run_name": "r"},
}


def numbers(run):
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def weights(result):
    return read_archive(Path(result.model), "model")[1]["weights"]


def same_bits(one, other):
    assert numbers(one.run_dir) == numbers(other.run_dir)
    first, second = weights(one), weights(other)
    assert {name: array.tobytes() for name, array in first.items()} == {
        name: array.tobytes() for name, array in second.items()
    }


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.long] * (c == "pictures")) for c in CASES])
def test_workers_and_breaks_change_no_number(case, tmp_path):
    settings = {**COMMON, **CASES[case]}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    half = train(**{**settings, "total_timesteps": 192}, n_workers=2, log_root=str(tmp_path / "half"))
    same_bits(whole, resume(half.run_dir, total_timesteps=384, n_workers=3))


def test_shards_learn_together_what_one_learns_alone(tmp_path):
    """One step over all rows: the mean of the shards' gradients is the gradient, but for the last digits."""
    once = {**PENDULUM, **COMMON, "batch_size": 64, "n_epochs": 1, "total_timesteps": 64, "normalize_advantage": False}
    once |= {"normalize_return": True, "normalize_obs": True, "n_workers": 0, "max_grad_norm": 1e9}
    found = {}
    for shards in (1, 2, 4):
        result = train(**{**once, "shards": shards}, log_root=str(tmp_path / str(shards)))
        gradient = load_newest(Path(result.run_dir) / "checkpoints").algorithm["adam_exp_avg"].numpy()
        found[shards] = {**weights(result), "gradient": gradient}, numbers(result.run_dir)[0]["losses"]
    for shards in (2, 4):  # Adam's step hardly shows how long a gradient was, its first moment does
        for name, array in found[1][0].items():
            np.testing.assert_allclose(found[shards][0][name], array, rtol=2e-4, atol=2e-6, err_msg=name)
        for name, value in found[1][1].items():
            assert found[shards][1][name] == pytest.approx(value, rel=1e-4, abs=1e-6), name


def test_every_shard_shuffles_by_itself_and_every_update_anew(tmp_path):
    settings = {**PENDULUM, **COMMON, "total_timesteps": 128, "n_workers": 0}
    losses = [
        json.dumps(numbers(train(**{**settings, **more}, log_root=str(tmp_path / str(at))).run_dir))
        for at, more in enumerate(({}, {"shards": 2}, {"shards": 1}, {}))
    ]
    assert losses[0] == losses[3]
    assert len(set(losses)) == 3


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"n_envs": 10}, r"n_envs 10 is not a multiple of shards 4 \(10 % 4 = 2\)"),
        ({"batch_size": 18}, r"batch_size 18 is not a multiple of shards 4 \(18 % 4 = 2\)"),
        ({"algorithm": "cloning"}, "shards 4 is for ppo, and algorithm is cloning"),
    ],
)
def test_what_shards_do_not_divide_is_refused(more, sentence, tmp_path):
    with pytest.raises(SettingsError, match=sentence):
        train(**{**COMMON, **LANTERN, **more}, log_root=str(tmp_path))
    assert not list(tmp_path.iterdir())
