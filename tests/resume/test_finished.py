"""A finished run has nothing left to do; one killed before its first checkpoint begins again with the same numbers."""

import json
from pathlib import Path

import pytest

from parcade import resume, train
from parcade.cli.main import main
from parcade.train.events import Updated

SETTINGS = {
    **{"game": "lantern", "seed": 3, "n_envs": 2, "n_steps": 16, "max_steps": 12, "total_timesteps": 64},
    **{"final_eval_episodes": 2, "video": False, "n_workers": 0},
}


def contents(run):
    return {path: path.read_bytes() for path in Path(run).rglob("*") if path.is_file()}


@pytest.fixture
def run(tmp_path):
    return train(**SETTINGS, log_root=str(tmp_path)).run_dir


def test_resuming_a_finished_run_says_so_and_touches_nothing(run, capsys):
    before = contents(run)
    assert main(["resume", run]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{run} is finished after 64 steps; --timesteps N trains on to N steps\n"
    assert not shown.err
    assert contents(run) == before


def test_json_ends_with_the_result_of_back_then(run, capsys):
    summary = json.loads((Path(run) / "summary.json").read_text())
    assert main(["resume", run, "--n-workers", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result.pop("already_finished") is True
    assert result == {key: summary[key] for key in result}
    assert result["env_steps"] == 64


def test_more_steps_or_another_evaluation_are_something_to_do(run, capsys):
    assert main(["resume", run, "--timesteps", "96", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["already_finished"] is False
    assert result["env_steps"] == 96
    assert resume(run).env_steps == 96  # more than the 64 of its config
    assert resume(run, final_eval_episodes=3).evaluation["episodes"] == 3


def test_a_run_whose_checkpoints_are_gone_is_not_begun_anew(run, capsys):
    for checkpoint in (Path(run) / "checkpoints").iterdir():
        checkpoint.unlink()
    before = contents(run)
    assert main(["resume", run, "--timesteps", "96"]) == 1
    assert "has no checkpoint left to go on from" in capsys.readouterr().err
    assert contents(run) == before


def test_an_interrupted_run_is_not_finished(tmp_path):
    events = []

    def stop_at_once(event):
        events.append(event)
        if isinstance(event, Updated):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(**SETTINGS, save_freq=32, log_root=str(tmp_path), on_event=stop_at_once)
    (config,) = tmp_path.glob("lantern/*/config.json")
    assert resume(config.parent).env_steps == 64


def test_a_run_without_a_checkpoint_begins_again(run, tmp_path):
    (broken,) = (tmp_path / "broken",)
    broken.mkdir()
    for name in ("logs", "monitor", "checkpoints", "models", "videos"):
        (broken / name).mkdir()
    (broken / "config.json").write_bytes((Path(run) / "config.json").read_bytes())
    (broken / "metrics.jsonl").write_text('{"update": 1}\n{"upd')  # killed in the midst of a write
    (broken / "monitor" / "env_0.csv").write_text("return,length\n")
    result = resume(broken)
    rows = {}
    for name, folder in (("whole", run), ("again", result.run_dir)):
        lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
        rows[name] = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]
    assert rows["again"] == rows["whole"]
    monitors = [sorted(p.read_text() for p in (Path(folder) / "monitor").iterdir()) for folder in (run, broken)]
    assert monitors[0] == monitors[1]
