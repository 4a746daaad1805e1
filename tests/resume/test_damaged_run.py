"""Runs whose files somebody removed or shortened, and runs on a full disk: one sentence, and nothing more is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parcade import resume, train
from parcade.cli.main import main
from parcade.errors import SettingsError

SETTINGS = {
    **{"env_id": "CartPole-v1", "seed": 3, "n_envs": 2, "n_steps": 32, "total_timesteps": 256, "save_freq": 64},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "n_workers": 0},
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Path(train(**SETTINGS, log_root="results").run_dir)


def updates(run):
    return [json.loads(line)["update"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_without_its_rows_a_run_goes_on_all_the_same(run, caplog):
    (run / "metrics.jsonl").unlink()
    for monitor in (run / "monitor").iterdir():
        monitor.unlink()
    (run / "monitor").rmdir()
    result = resume(run, total_timesteps=320)
    assert result.env_steps == 320
    assert updates(run) == [5]
    assert "metrics.jsonl has lost rows" in caplog.text
    assert (run / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["logs/lock", "logs/train.log", "metrics.jsonl", "monitor/env_1.csv", "logs", "monitor"]
)
def test_a_file_in_the_place_of_a_folder_is_named_and_the_other_way_round(name, run, capsys):
    part, gone = run / name, run.parent / "gone"
    part.rename(gone)
    part.write_text("x") if gone.is_dir() else part.mkdir()
    assert main(["resume", str(run), "--timesteps", "320"]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert f"{name} of the run cannot be opened" in error
    part.unlink() if part.is_file() else part.rmdir()
    gone.rename(part)
    assert resume(run, total_timesteps=320).env_steps == 320


def test_a_folder_among_the_events_is_named(run):
    (events,) = (run / "logs").glob("events.*")
    events.unlink()
    events.mkdir()
    with pytest.raises(SettingsError, match=r"events.* of the run cannot be opened: Is a directory"):
        resume(run, total_timesteps=320)


def test_a_torn_row_is_dropped(run):
    whole = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(whole[: len(whole) // 2])
    resume(run, total_timesteps=320)
    assert updates(run)[-1] == 5
    assert updates(run)[0] == 1


def test_a_goal_behind_the_checkpoint_is_refused(run, capsys):
    summary = run / "summary.json"
    summary.unlink()  # as if it had been killed at the very end
    assert main(["resume", str(run), "--timesteps", "64"]) == 2
    assert "total_timesteps is 64, but the run's checkpoint is at step 256 already" in capsys.readouterr().err
    assert len(updates(run)) == 4


def test_resume_finds_the_newest_run(run, capsys):
    assert main(["resume", "--timesteps", "320", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["run_dir"] == str(run)
    assert main(["resume", "results/CartPole-v1"]) == 2
    assert f"did you mean {run}?" in capsys.readouterr().err


def test_a_model_says_where_it_was_trained_if_it_does_not_fit(run, capsys):
    model = str(run / "models" / "final_model.zip")
    assert main(["eval", "--model", model, "--game", "lantern"]) == 2
    assert f"{model} was trained in CartPole-v1; it cannot play lantern" in capsys.readouterr().err
    assert main(["train", "--env-id", "CartPole-v1", "--n-envs", "2", "--model", model, "--lstm", "8"]) == 2
    assert "with lstm 0 instead of 8" in capsys.readouterr().err


def test_a_full_disk_ends_in_one_sentence(tmp_path):
    """On a real file system of 20 kB, which only this test's processes see."""
    mount = f"mount -t tmpfs -o size=20k tmpfs {tmp_path}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small file system")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items() if name != "video"]
    command = f"{mount} && cd {tmp_path} && exec {sys.executable} -m parcade.cli.main train {' '.join(flags)}"
    answer = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{command} --no-video --plain"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1, answer.stderr
    assert "Traceback" not in answer.stderr
    assert "env_0.csv cannot be written (No space left on device); its rows wait until it can" in answer.stderr
    assert "the results could not be written" in answer.stderr.splitlines()[-1]
