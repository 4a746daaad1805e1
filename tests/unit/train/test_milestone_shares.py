"""What a training tells of milestones: in its rows, its result, its evaluation and its summary."""

from __future__ import annotations

import json
from pathlib import Path

from parcade.env.milestones import ToldMilestone
from parcade.run.metrics import tensorboard_values
from parcade.train.evaluation import EpisodeResult, Evaluation
from parcade.train.events import Finished
from parcade.train.results import TrainResult
from parcade.train.start import train
from parcade.train.summary import summary_text

SMALL = {"n_envs": 2, "n_workers": 0, "n_steps": 32, "batch_size": 32, "hidden": (8,), "video": False, "max_steps": 40}


def result(**milestones: float | None) -> TrainResult:
    numbers = {"env_steps": 10, "episodes": 5, "seconds": 1.0, "steps_per_s": 10.0, "episodes_per_s": 5.0}
    outcome = {"return_mean": 1.0, "success_rate": None, "train_success_rate": None, "evaluation": None}
    return TrainResult(
        "run", model="m", worker_restarts=0, interrupted=False, milestones=milestones, **numbers, **outcome
    )


def test_rows_and_result_tell_the_shares(tmp_path: Path) -> None:
    done = train(game="lantern", total_timesteps=192, log_root=str(tmp_path), final_eval_episodes=2, **SMALL)
    assert list(done.milestones) == ["second_room", "key", "door", "lantern"]
    *rows, final = map(json.loads, Path(done.run_dir, "metrics.jsonl").read_text().splitlines())
    last = rows[-1]
    assert done.milestones["second_room"] == last["game"]["milestone_second_room"]
    assert done.milestones["lantern"] == last["success_rate"]
    running = ["milestone_second_room", "milestone_key", "milestone_door", "success"]
    assert [name for name in last["running"] if name not in ("return_mean", "length_mean")] == running
    assert all(0 <= last["running"][name] <= 1 for name in running)
    assert "rollout/running_milestone_key" in tensorboard_values(last, ())
    assert {"milestone_second_room", "milestone_key", "milestone_door"} <= set(final["eval"])
    assert done.evaluation is not None
    assert list(done.evaluation["milestones"]) == list(done.milestones)
    header = Path(done.run_dir, "monitor", "env_0.csv").read_text().splitlines()[0]
    assert header.endswith("kills,milestone_second_room,milestone_key,milestone_door")
    told = json.loads(Path(done.run_dir, "manifest.json").read_text())["milestones"]
    assert told[1] == {"name": "key", "metric": "milestone_key", "words": "the hero has taken the key"}
    assert "Second room" in Path(done.run_dir, "report.html").read_text()


def test_the_summary_tells_the_shares_in_80_columns() -> None:
    many = result(**{f"milestone_number_{number}": number / 10 for number in range(9)})
    text = summary_text(Finished(many, None, 2, 0))
    assert "  milestones   milestone number 0 0.00, milestone number 1 0.10, " in text
    assert "milestone number 8 0.80" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "milestones" not in summary_text(Finished(result(), None, 2, 0))
    assert "milestones" not in summary_text(Finished(result(key=None), None, 2, 0))


def test_the_summary_prefers_the_evaluation() -> None:
    episodes = tuple(EpisodeResult(seed, 1.0, 5, {"milestone_key": float(seed)}) for seed in range(2))
    judged = Evaluation(episodes, 1.0, milestones=(ToldMilestone("key", "milestone_key", "a key"),), wanted=2)
    text = summary_text(Finished(result(key=0.1), judged, 2, 0))
    assert "  milestones   key 0.50\n" in text
    assert "0.10" not in text
    assert judged.summary()["milestone_key"] == 0.5
