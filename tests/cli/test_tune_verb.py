"""`parcade tune` as a user calls it: real games, a short time; and bad input."""

import json

import pytest

from parcade.cli.main import main
from parcade.train.measured import look_up

SMALL = ["--game", "lantern", "--n-envs", "4", "--n-steps", "8", "--max-steps", "50"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tune(*flags):
    return main(["tune", *flags])


def test_tune_measures_answers_and_keeps(tmp_path, capfd):
    best, plot = tmp_path / "best.yaml", tmp_path / "plot.svg"
    assert tune(*SMALL, "--seconds", "5", "--write", str(best), "--plot", str(plot), "--json") == 0
    out, err = capfd.readouterr()
    line = json.loads(out.splitlines()[-1])
    assert line["n_envs"] == 4  # it was given
    assert line["over_default"] >= 1.0
    assert line["steps_per_s"] > 0
    assert {(row["n_envs"], row["n_workers"], row["num_threads"]) for row in line["table"]} >= {(4, 1, 1)}
    assert "bound" in line["why"]
    assert "Use " in err
    assert plot.read_text().startswith("<svg")
    assert main(["config", "--config", str(best), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["n_workers"] == line["n_workers"]
    kept = look_up({"game": "lantern", "n_envs": 4, "n_steps": 8, "max_steps": 50})
    assert kept is not None
    assert kept.n_workers == line["n_workers"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--seconds", "0"], "seconds is 0, wanted 5 to 3600"),
        (["--seconds", "nan"], "seconds is nan"),
        (["--write", "best.txt"], "--write is 'best.txt', wanted a file that ends in .yaml or .json"),
        (["--write", "/no/such/best.yaml"], "there is no folder /no/such"),
        (["--plot", "plot.gif"], "wanted a file that ends in .svg"),
        (["--game", "lanterm"], "did you mean"),
        (["--n-envs", "many"], "'many' is not a whole number"),
    ],
)
def test_bad_input_is_one_sentence(flags, sentence, capfd):
    assert tune(*flags) == 2
    err = capfd.readouterr().err
    assert sentence in err
    assert "Traceback" not in err


def test_a_config_file_that_is_there_is_not_overwritten(tmp_path, capfd):
    file = tmp_path / "mine.yaml"
    file.write_text("game: lantern\n")
    assert tune("--write", str(file)) == 2
    assert "is there already" in capfd.readouterr().err
    assert file.read_text() == "game: lantern\n"
