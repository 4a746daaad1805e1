"""Archive, novelty and demonstrations together: no number of workers, no death and no kill -9 changes a number."""

import json
import os
import signal
from pathlib import Path

import pytest
from test_resume import rows, start_and_kill, weights

from parcade import resume, train
from parcade.pool.pool import Pool
from parcade.train.recording import record

SETTINGS = {
    **{"game": "lantern", "seed": 5, "n_envs": 5, "n_steps": 24, "frame_skip": 24, "max_steps": 60, "run_name": "r"},
    **{"total_timesteps": 960, "save_freq": 120, "eval_freq": 0, "final_eval_episodes": 0, "video": False},
    **{"archive_share": 0.5, "novelty": 0.5, "novelty_kind": "both", "clone_updates": 2, "backward_share": 0.4},
    **{"lr_schedule": "constant", "num_threads": 1},
}
KILLS = (1, 3, 6)  # rollouts in which a worker is killed

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """All settings, with two recorded episodes of a player who walks about."""
    folder = tmp_path_factory.mktemp("demos")
    plain = {name: value for name, value in SETTINGS.items() if name not in ("archive_share", "novelty")}
    short = {"total_timesteps": 120, "max_steps": 40, "n_workers": 0, "log_root": str(folder)}
    model = train(**{**plain, **short}).model
    record(model, folder / "demos.zip", episodes=2, n_workers=0)
    return {**SETTINGS, "demonstrations": str(folder / "demos.zip")}


@pytest.fixture(scope="module")
def whole(settings, tmp_path_factory):
    """An unbroken run without workers, in which everything that was asked for happens."""
    result = train(**settings, n_workers=0, log_root=str(tmp_path_factory.mktemp("whole")))
    explored = [row["explore"] for row in rows(result.run_dir)]
    assert explored[-1]["archive_cells"] > explored[0]["archive_cells"] > 1
    assert explored[0]["backward_place"] > 0, explored
    assert sum(one["novelty_mean"] > 0 for one in explored) > 4, explored
    return result


def same_numbers(one, other):
    assert rows(one.run_dir) == rows(other.run_dir)
    assert weights(one.run_dir) == weights(other.run_dir)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_workers_that_are_killed(n_workers, settings, whole, tmp_path, monkeypatch):
    started, played = [], Pool.start_play

    def start_play(pool, *arguments):
        played(pool, *arguments)
        if len(started) in KILLS:
            os.kill(pool.worker_pids[len(started) % n_workers], signal.SIGKILL)
        started.append(pool)

    monkeypatch.setattr(Pool, "start_play", start_play)
    result = train(**settings, n_workers=n_workers, log_root=str(tmp_path))
    same_numbers(result, whole)
    last = json.loads((Path(result.run_dir) / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["time"]["worker_restarts"] == len(KILLS)


@pytest.mark.parametrize(("after", "first_workers", "then_workers"), [(1, 0, 2), (3, 2, 1), (5, 1, 3)])
def test_the_trainer_is_killed_and_resumed(after, first_workers, then_workers, settings, whole, tmp_path):
    run = start_and_kill(tmp_path, after, first_workers, settings)
    same_numbers(resume(run, n_workers=then_workers), whole)
