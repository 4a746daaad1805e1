"""`parcade starts`: what an archive holds, as a table, as pictures and as save states."""

import json

import cv2
import pytest

from parcade import make_env, train
from parcade.cli.main import main

QUICK = {
    **{"game": "lantern", "n_envs": 4, "n_steps": 64, "total_timesteps": 512, "frame_skip": 24, "max_steps": 60},
    **{"eval_freq": 0, "final_eval_episodes": 0, "video": False, "n_workers": 0, "archive_share": 0.5},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(**QUICK, log_root=str(tmp_path_factory.mktemp("runs"))).run_dir


def told(capsys, *arguments):
    assert main(["starts", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_listing_and_its_pictures(run, tmp_path, capsys):
    file = tmp_path / "starts.png"
    answer = told(capsys, run, "--order", "steps", "--most", "6", "--pictures", str(file))
    steps = [start["steps"] for start in answer["starts"]]
    assert answer["cells"] >= len(steps) == 6
    assert steps == sorted(steps, reverse=True)
    assert all(start["words"].startswith("Floor 1") and start["reached"] >= 1 for start in answer["starts"])
    picture = cv2.imread(str(file))
    assert picture.shape == (2 * (288 + 22), 5 * (320 + 4), 3)
    assert main(["starts", run]) == 0
    assert f"of {answer['cells']} starts" in capsys.readouterr().out


def test_an_exported_start_is_the_moment_that_was_found(run, tmp_path, capsys):
    start = told(capsys, run, "--order", "steps", "--most", "1")["starts"][0]
    file = tmp_path / "there.state"
    assert told(capsys, run, "--export", str(start["number"]), str(file)) == {
        "start": start["number"],
        "file": str(file),
    }
    env = make_env("lantern", state=str(file))
    env.reset(seed=1)
    assert env.unwrapped.game.describe(env.unwrapped.state).split(";")[0].split(",")[1] == start["words"].split(",")[1]
    env.close()


def test_starts_of_milestones_are_named(tmp_path, capsys):
    guide = {"milestones": [{"name": "east", "when": "increased(x)"}, {"name": "south", "when": "increased(y)"}]}
    explored = {"archive_strategy": "milestone", "guide": guide, "total_timesteps": 256}
    found = train(**{**QUICK, **explored}, log_root=str(tmp_path)).run_dir
    starts = told(capsys, found, "--most", "999")["starts"]
    assert {"guide_east", "guide_south"} <= {start["milestone"] for start in starts}
    assert main(["starts", found]) == 0
    table = capsys.readouterr().out
    assert "guide_east" in table
    assert f" {starts[0]['steps']} " in table  # in 80 columns too, where the state does not fit


def test_bad_input_is_one_sentence(run, tmp_path, capsys):
    for arguments, words in (
        ([run, "--export", "99999", str(tmp_path / "x")], "there is no start 99999"),
        ([run, "--export", "1", str(tmp_path / "no" / "x")], "cannot be written"),
        ([str(tmp_path)], "is not a run folder"),
    ):
        assert main(["starts", *arguments]) == 2
        assert words in capsys.readouterr().err
