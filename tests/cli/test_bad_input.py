"""Bad input gets one clear sentence, exit code 2, and no traceback."""

import json
import re
from pathlib import Path

import pytest

from parcade.cli.main import main

TOKEN = str(Path(__file__).parents[1] / "roms" / "token.gb")
CASES = {
    "unknown verb": (["trian"], "trian"),
    "unknown flag": (["train", "--n-env", "3"], "did you mean '--n-envs'"),
    "unknown game": (["train", "--game", "lantren"], "did you mean 'lantern'"),
    "missing rom": (["train", "--game", "pokemon-red", "--rom", "nowhere.gb"], "no ROM at nowhere.gb"),
    "unknown rom": (["train", "--rom", TOKEN], "token.gb .*no title that Parcade knows.*parcade inspect.*add-a-game"),
    "unknown rom, eval": (["eval", "--random", "--rom", TOKEN], "no title that Parcade knows"),
    "no rom given": (["train", "--game", "links-awakening"], "needs your own ROM"),
    "no games": (["train", "--n-envs", "0"], "n_envs is 0"),
    "not a number": (["train", "--timesteps", "many"], "'many' is not a whole number"),
    "batch too large": (["train", "--n-envs", "1", "--n-steps", "8", "--batch-size", "99"], "1 x n_steps 8 = 8"),
    "two faults at once": (["train", "--gamma", "2", "--n-epochs", "0"], "n_epochs is 0.*gamma is 2.0"),
    "game and env": (["train", "--game", "lantern", "--env-id", "CartPole-v1"], "cannot both be given"),
    "unknown env": (["train", "--env-id", "NoSuchEnv-v0"], "not registered"),
    "missing config": (["train", "--config", "nowhere.yaml"], "cannot be read"),
    "no such device": (["train", "--timesteps", "64", "--n-envs", "1", "--device", "cuda"], "not available"),
    "eval of nothing": (["eval"], "needs --model FILE or --random"),
    "eval of both": (["eval", "--model", "x.zip", "--random"], "not both"),
    "missing model": (["eval", "--model", "nowhere.zip"], "no model at nowhere.zip"),
    "no episodes": (["eval", "--random", "--episodes", "0"], "wanted 1 or more"),
    "resume of nothing": (["resume", "nowhere"], "not a run folder"),
    "backward frames": (["eval", "--random", "--frame-skip", "-4"], "frame_skip is -4"),
    "negative seed": (["eval", "--random", "--seed", "-4"], "--seed is -4, wanted 0 or more"),
    "endless rate": (["train", "--learning-rate", "inf"], "learning_rate is inf"),
    "tiles of the official track": (
        ["train", "--env-id", "CarRacing-v3", "--official", "--missed-tile-cost", "1"],
        "missed_tile_cost is for the fast track",
    ),
    "unknown reward part": (["train", "--reward-weights", "keyy=3"], "did you mean 'key'"),
    "a picture without height": (["train", "--env-id", "CartPole-v1", "--resize", "0"], "1 to 4,096 pixels a side"),
    "an empty layer": (["train", "--hidden", "64,0"], "wanted 64 layers or fewer, each of 1 unit or more"),
    "bad pairs": (["train", "--reward-weights", "key"], "not key=value"),
}


def sentence(capsys):
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    lines = [line for line in captured.err.splitlines() if line.startswith("parcade: ")]
    assert len(lines) == 1, captured.err
    return lines[0]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_exit_2(case, capsys):
    arguments, text = CASES[case]
    assert main(arguments) == 2
    assert re.search(text, sentence(capsys))


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("typo.yaml", "learning_rat: 0.1\n", "unknown key 'learning_rat' .did you mean 'learning_rate'"),
        ("broken.yaml", "a: [1\n", "is not valid"),
        ("list.yaml", "- 1\n- 2\n", "holds a list"),
        ("broken.json", "{", "is not valid"),
        ("wrong.yaml", "n_steps: many\n", "n_steps is 'many'"),
    ],
)
def test_config_files(tmp_path, capsys, name, content, text):
    (tmp_path / name).write_text(content)
    assert main(["train", "--config", name]) == 2
    assert re.search(text, sentence(capsys))


def test_a_model_that_is_none(tmp_path, capsys):
    (tmp_path / "model.zip").write_bytes(b"PK\x03\x04 nonsense")
    assert main(["eval", "--model", "model.zip"]) == 2
    assert "not a Parcade model file" in sentence(capsys)


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "results").write_text("a file where the folder should be")
    assert main(["train", "--timesteps", "64", "--n-envs", "1"]) == 2
    assert "a run cannot be stored" in sentence(capsys)


def test_a_wrong_rom_names_what_came_and_what_was_wanted(tmp_path, capsys):
    (tmp_path / "wrong.gb").write_bytes(bytes(0x8000))
    assert main(["train", "--game", "pokemon-red", "--rom", "wrong.gb"]) == 2
    text = sentence(capsys)
    assert "wrong.gb has SHA-1" in text
    assert "expected" in text


def test_a_refused_run_leaves_no_folder(tmp_path):
    assert main(["train", "--env-id", "NoSuchEnv-v0"]) == 2
    assert not list((tmp_path / "results").glob("*")) if (tmp_path / "results").exists() else True


def test_a_model_of_another_game_is_refused_and_leaves_no_folder(tmp_path, capsys):
    model = Path(__file__).parents[2] / "models" / "carracing.zip"
    flags = ["--game", "lantern", "--n-envs", "2", "--model", str(model), "--log-root", str(tmp_path / "runs")]
    assert main(["train", *flags]) == 2
    assert "does not fit the network: it was trained in parcade/CarRacing-v3" in capsys.readouterr().err
    assert list((tmp_path / "runs").rglob("*")) == []


def test_errors_as_json(capsys):
    assert main(["train", "--n-envs", "0", "--json"]) == 2
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last)["exit_code"] == 2
