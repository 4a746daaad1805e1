"""`parcade runs` and `parcade compare` as a user runs them, on real runs."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from parcade import train
from parcade.cli.main import main
from parcade.run.lock import held

SMALL = {"n_envs": 2, "n_steps": 32, "n_workers": 0, "eval_freq": 0, "final_eval_episodes": 2, "video": False}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for seed in (1, 2):
        train(env_id="CartPole-v1", total_timesteps=128, seed=seed, log_root=str(root), **SMALL)
    train(
        env_id="CartPole-v1",
        total_timesteps=256,
        seed=1,
        gamma=0.5,
        run_name="short sight",
        log_root=str(root),
        **SMALL,
    )
    return root


def told(capsys, *words):
    code = main([*map(str, words), "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out.splitlines()[-1]), said.err


def test_runs_are_listed_filtered_and_sorted(results, capsys):
    _, found, _ = told(capsys, "runs", results)
    assert len(found["runs"]) == 3
    assert found["bytes"] == sum(run["bytes"] for run in found["runs"]) > 3000
    assert {run["state"] for run in found["runs"]} == {"finished"}
    _, found, _ = told(capsys, "runs", results, "--filter", "steps>=128", "--filter", "gamma=0.99", "--sort", "seed")
    assert [run["seed"] for run in found["runs"]] == [1, 2]
    _, found, _ = told(capsys, "runs", results, "--sort", "steps", "--limit", 1)
    assert [run["steps"] for run in found["runs"]] == [256]
    _, found, _ = told(capsys, "runs", results, "--filter", "short")
    assert [Path(run["path"]).parent.name for run in found["runs"]] == ["short sight"]
    assert main(["runs", str(results)]) == 0
    shown = capsys.readouterr().out
    assert "3 runs, " in shown
    assert "CartPole-v1" in shown


def test_a_comparison_of_real_runs(results, tmp_path, capsys):
    page = tmp_path / "compare.html"
    code, found, _ = told(capsys, "compare", results, "--html", page)
    assert code == 0
    assert found["metric"] == "eval/mean_reward"
    assert [len(group["runs"]) for group in found["groups"]] == [2, 1]
    assert found["differences"] == {"total_timesteps": [128, 256], "gamma": [0.99, 0.5]}
    assert page.stat().st_size > 5000
    assert main(["compare", str(results), "--metric", "rollout/ep_rew_mean"]) == 0
    shown = capsys.readouterr().out
    assert "gamma" in shown
    assert "A group of 1 seed has no interval" in shown


def test_a_run_is_deleted_only_after_a_yes_and_never_while_it_trains(tmp_path, capsys):
    kept = train(
        env_id="CartPole-v1", total_timesteps=64, log_root=str(tmp_path), **{**SMALL, "final_eval_episodes": 0}
    )
    code, _, said = told(capsys, "runs", tmp_path, "--delete")
    assert code == 2
    assert "--delete would delete 1 run, but stdin is not a terminal; add --yes" in said
    with held(Path(kept.run_dir) / "logs" / "lock"):
        code, found, said = told(capsys, "runs", tmp_path, "--delete", "--yes")
        assert (code, found["deleted"]) == (0, [])
        assert f"{kept.run_dir} is being trained and stays" in said
        assert found["runs"][0]["state"] == "running"
    assert answer(tmp_path, "n") == "nothing was deleted"
    assert Path(kept.run_dir).exists()
    assert answer(tmp_path, "y") == "deleted 1 run"
    assert not Path(kept.run_dir).parent.exists()


def answer(root, word):
    """Run the command in a terminal, answer its question, and return its last line."""
    controller, terminal = pty.openpty()
    words = [sys.executable, "-m", "parcade.cli.main", "runs", str(root), "--delete"]
    asked = subprocess.Popen(words, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.write(controller, f"{word}\n".encode())
    out, error = asked.communicate(timeout=120)
    os.close(controller), os.close(terminal)
    assert "for good? [y/N]" in out
    return error.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["runs", "nowhere"], "there is no folder nowhere"),
        (["runs", "--filter", "gama=1"], "--filter knows no 'gama' (did you mean 'gamma'?)"),
        (["runs", "--limit", "0"], "--limit is 0, wanted 1 or more"),
        (["runs", "--yes"], "--yes answers the question of --delete"),
        (["compare", "nowhere"], "there is no folder nowhere; give the folders of runs"),
        (["compare", "."], "there is no run in ."),
        (["compare", ".", "--html", "no/page.html"], "the folder of no/page.html does not exist"),
        (["compare"], "the following arguments are required: RUN"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, found, said = told(capsys, *words)
    assert code == 2
    assert sentence in found["error"]
    assert len(said.splitlines()) == 1
