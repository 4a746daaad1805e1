"""The short version of tools/kill_and_resume.py, and a proof that it would see a difference."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parcade import train

TOOL = Path(__file__).parents[2] / "tools" / "kill_and_resume.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("kill_and_resume", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.timeout(900)  # seconds where cores are free
def test_three_kills_end_in_the_same_numbers():
    command = [sys.executable, str(TOOL), "--kills", "3", "--minutes", "14", "--seed", "1", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout)
    assert result["passed"]
    assert result["kills"] == sum(result["kills_by_moment"].values()) == 3


def test_every_difference_is_seen(tool, tmp_path):
    flags = {"n_envs": 2, "n_steps": 16, "max_steps": 12, "total_timesteps": 64, "final_eval_episodes": 1}
    result = train(game="lantern", **flags, n_workers=0, video=False, log_root=str(tmp_path / "first"))
    first, second = Path(result.run_dir), tmp_path / "second"
    shutil.copytree(first, second)
    assert tool.compare(first, second) == []
    rows = [json.loads(line) for line in (second / "metrics.jsonl").read_text().splitlines()]
    rows[-1]["time"]["seconds"] += 1  # times are no difference
    (second / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert tool.compare(first, second) == []
    rows[1]["losses"]["entropy"] += 1e-7
    (second / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    other = train(game="lantern", **flags, seed=1, n_workers=0, video=False, log_root=str(tmp_path / "other"))
    shutil.copytree(Path(other.run_dir) / "models", second / "models", dirs_exist_ok=True)
    monitor = next((second / "monitor").iterdir())
    monitor.write_text(monitor.read_text() + "1,1,1\n")
    (second / "episodes" / "episode_000000001.zip").unlink()
    summary = json.loads((second / "summary.json").read_text())
    summary["evaluation"]["return_mean"] += 1
    (second / "summary.json").write_text(json.dumps(summary))
    models = ["weights of final_model.zip", "weights of best_model.zip"]
    assert tool.compare(first, second) == ["metrics", "monitors", "evaluation", "kept episodes", *models]


def test_the_verdict_in_words(tool):
    result = {"kills": 2, "kills_wanted": 3, "seconds": 9.0, "finished": True, "differences": [], "passed": False}
    assert "the run ended after 2 of 3 kills" in tool.verdict(result)
    assert "time ran out" in tool.verdict({**result, "finished": False})
    assert "differ from the unbroken run: metrics" in tool.verdict({**result, "differences": ["metrics"]})
    assert tool.verdict({**result, "kills": 3, "passed": True}).startswith("PASSED: 3 of 3 kills")
