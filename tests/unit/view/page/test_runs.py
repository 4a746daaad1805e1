"""What the server tells of runs, and what it never opens."""

import json
import os

import pytest

from parcade.errors import SettingsError
from parcade.view.page.about_run import run_card, run_facts, slot_lines
from parcade.view.page.runs import Runs, runs_at, tail


def make_run(root, name, config=None, rows=()):
    folder = root / name
    for part in ("logs", "models", "monitor"):
        (folder / part).mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config or {"game": "lantern", "total_timesteps": 100}))
    (folder / "manifest.json").write_text("{}")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_runs_are_found_newest_first_by_their_names(tmp_path):
    make_run(tmp_path, "a/20260101-000000")
    make_run(tmp_path, "b/20260301-000000")
    make_run(tmp_path, "sweep/c/20260201-000000")
    trial = make_run(tmp_path, "sweep/trial-001")
    (trial / "manifest.json").write_text('{"started": "2026-02-15T00:00:00"}')
    assert [run.name for run in Runs(tmp_path).all()] == [
        "b/20260301-000000",
        "sweep/trial-001",
        "sweep/c/20260201-000000",
        "a/20260101-000000",
    ]


def test_a_run_alone_and_a_folder_of_runs(tmp_path, monkeypatch):
    folder = make_run(tmp_path, "results/a/20260101-000000")
    assert [run.path for run in runs_at(str(folder), "results").all()] == [folder]
    assert [run.name for run in runs_at(str(folder.parent), "results").all()] == ["20260101-000000"]
    monkeypatch.chdir(tmp_path)
    assert [run.name for run in runs_at(None, "results").all()] == ["a/20260101-000000"]
    with pytest.raises(SettingsError, match=r"there is no folder nothing; the newest run is results/a/20260101"):
        runs_at("nothing", "results")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingsError, match=r"there is no run in empty or below it; the newest run is results/a/2026"):
        runs_at("empty", "results")
    with pytest.raises(SettingsError, match=r"there is no run in empty or below it; `parcade train` begins one"):
        runs_at("empty", "empty")
    assert runs_at(None, "empty").all() == []  # the first one may begin later


def test_what_leads_out_of_a_run_is_not_served(tmp_path):
    folder = make_run(tmp_path, "root/a/20260101-000000")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "models" / "link.zip").symlink_to(secret)
    (folder / "models" / "best_model.zip").write_text("model")
    os.mkfifo(folder / "models" / "pipe")
    runs = Runs(tmp_path / "root")
    run = runs.find("a/20260101-000000")
    assert runs.file(run, "models/best_model.zip").read_text() == "model"
    for name in (
        "../../../secret",
        str(secret),
        "models/link.zip",
        "models/pipe",
        "models",
        "\0",
        "models/../../../../secret",
    ):
        assert runs.file(run, name) is None, name


def test_a_run_that_is_a_link_out_of_the_root_is_no_run(tmp_path):
    make_run(tmp_path, "elsewhere/20260101-000000")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").symlink_to(tmp_path / "elsewhere")
    assert Runs(tmp_path / "root").all() == []
    assert Runs(tmp_path / "root").find("../elsewhere/20260101-000000") is None


def test_a_card_tells_how_far_a_run_is(tmp_path):
    rows = [{"env_steps": n, "return_mean": n / 2, "success_rate": 0.5} for n in (10, 20)]
    make_run(tmp_path, "a/20260101-000000", rows=[*rows, {"env_steps": 20, "final": True, "eval": {"mean_reward": 1}}])
    (run,) = Runs(tmp_path).all()
    card = run_card(run)
    assert (card["env_steps"], card["return_mean"], card["is_live"], card["is_finished"]) == (20, 10.0, False, False)


def test_a_damaged_run_says_so_and_stays_in_the_list(tmp_path):
    folder = make_run(tmp_path, "a/20260101-000000")
    (folder / "config.json").write_text("{")
    (run,) = Runs(tmp_path).all()
    assert "config.json is damaged" in run_card(run)["problem"]


def test_deaths_are_told_in_words(tmp_path):
    folder = make_run(tmp_path, "a/20260101-000000")
    words = "worker 1 (slots 8-15, pid 7) killed by SIGKILL; restored exactly (1 of 5 restarts used)"
    (folder / "logs" / "train.log").write_text(
        f"2026-11-18 01:40:12,931 INFO update=1\n2026-11-18 01:40:13,000 WARNING {words}\n"
    )
    (run,) = Runs(tmp_path).all()
    facts = run_facts(run)
    assert facts["deaths"] == [words]
    assert facts["machine"]["cores"] >= 1
    json.dumps(facts, allow_nan=False)


def test_lines_of_slots_are_thinned(tmp_path):
    folder = make_run(tmp_path, "a/20260101-000000")
    lines = "".join(f"{i},{10},{i * 100}\n" for i in range(2000))
    (folder / "monitor" / "env_3.csv").write_text(f"return,length,env_steps\n{lines}")
    (run,) = Runs(tmp_path).all()
    told = slot_lines(run, "3,4,x,-1,../../secret")["slots"]
    assert list(told) == ["3", "4"]
    assert told["4"] == []
    assert len(told["3"]) == 400
    assert told["3"][-1] == [199900.0, 1997.0]


def test_the_end_of_a_long_file_begins_with_a_whole_line(tmp_path):
    path = tmp_path / "log"
    path.write_text("first\nsecond\nthird\n")
    assert tail(path, 8) == "third\n"
    assert tail(path) == "first\nsecond\nthird\n"
    assert tail(tmp_path / "none") == ""
