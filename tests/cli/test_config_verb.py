"""Config files load as their owners wrote them, are checked as a whole, and repeat a run."""

import json
import re
from pathlib import Path

import pytest
import yaml

import parcade.roms
from parcade.cli.config import schema
from parcade.cli.main import main
from parcade.config.file import read_config
from parcade.config.settings import ALIASES, TrainSettings, make_settings
from parcade.train.given import settings_for

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))

# The keys of the requirements, written as users of other trainers write them.
THEIRS = """
env_id: CarRacing-v3
seed: 42
frames_stack: 4
grayscale: true
resize: [84, 84]
frame_skip: 4
reward_clip: 1.0
total_timesteps: 1e6
learning_rate: 3e-4
n_steps: 2048
batch_size: 64
n_epochs: 10
n_envs: 4
num_threads: 1
device: auto
run_name: ppo_carracing
log_root: results
eval_freq: 50000
n_eval_episodes: 5
save_freq: 100000
"""
SHORT = ["--n-steps", "16", "--batch-size", "32", "--n-epochs", "1", "--n-envs", "2", "--eval-freq", "0", "--no-video"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def last_json(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def without_times(run):
    rows = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        del row["time"]
    return rows


def test_their_file_loads_as_it_is():
    Path("theirs.yaml").write_text(THEIRS)
    settings = settings_for(read_config("theirs.yaml"))
    assert (settings.total_timesteps, settings.learning_rate, settings.resize) == (1_000_000, 3e-4, (84, 84))
    assert settings.racing == "fast"
    for key, value in yaml.safe_load(THEIRS).items():
        if not isinstance(value, str):
            got = getattr(settings, key)
            assert (list(got) if isinstance(got, tuple) else got) == value, key


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_their_file_trains_and_its_own_config_repeats_the_run(form, capsys):
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    name = f"theirs.{form}"
    text = THEIRS if form == "yaml" else json.dumps({**yaml.safe_load(THEIRS), "total_timesteps": 1_000_000})
    Path(name).write_text(text)
    flags = ["--timesteps", "256", "--final-eval-episodes", "0", "--json", *SHORT]
    assert main(["train", "--config", name, *flags]) == 0
    first = Path(last_json(capsys)["run_dir"])
    assert first.parts[:2] == ("results", "ppo_carracing")
    config = json.loads((first / "config.json").read_text())
    assert (config["seed"], config["n_steps"], config["frames_stack"], config["racing"]) == (42, 16, 4, "fast")
    manifest = json.loads((first / "manifest.json").read_text())
    assert (manifest["trained_in"], manifest["evaluated_in"]) == ("parcade/CarRacing-v3", "CarRacing-v3")
    if form == "yaml":
        assert main(["train", "--config", str(first / "config.json"), "--json"]) == 0
        assert without_times(last_json(capsys)["run_dir"]) == without_times(first)


def test_the_official_track_is_trained_on_when_asked_for(capsys):
    pytest.importorskip("Box2D", reason="CarRacing needs the extra `racing`")
    flags = ["--grayscale", "--resize", "42", "--timesteps", "32", "--final-eval-episodes", "0", "--json", *SHORT]
    assert main(["train", "--env-id", "CarRacing-v3", "--official", *flags]) == 0
    captured = capsys.readouterr()
    assert "trained and evaluated on the official CarRacing-v3" in captured.err
    run = Path(json.loads(captured.out.splitlines()[-1])["run_dir"])
    assert json.loads((run / "manifest.json").read_text())["trained_in"] == "CarRacing-v3"
    assert json.loads((run / "config.json").read_text())["racing"] == "official"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_example_is_valid_and_comments_every_key(path, monkeypatch):
    monkeypatch.chdir(path.parents[1])  # an example names others from where the README has you stand
    settings = settings_for(read_config(path))
    assert settings.total_timesteps > 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", " ")):
            assert "  # " in line or " # " in line, line


def test_there_is_an_example_for_every_title():
    from parcade.game.titles import title_names

    played = {read_config(path).get("game") for path in CONFIGS}
    assert {name for name in title_names() if ":" not in name} <= played


def test_config_prints_the_merged_settings(capsys):
    Path("mine.yaml").write_text("game: lantern\nseed: 7\nn_steps: 64\n")
    assert main(["config", "--config", "mine.yaml", "--n-steps", "32", "--json"]) == 0
    merged = last_json(capsys)
    assert (merged["seed"], merged["n_steps"], merged["n_envs"]) == (7, 32, 16)  # file, flag, title
    assert set(merged) == set(TrainSettings.model_fields)


def test_config_says_what_a_title_uses_for_what_is_left_to_it(capsys):
    assert main(["config", "--game", "pokemon-red", "--max-steps", "99"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^frame_skip: null +# frames per step, all counted \[16\]$", text, re.M)
    assert re.search(r"^max_steps: 99 +# truncate an episode after this many steps \[the title's", text, re.M)
    assert main(["config", "--game", "lantern"]) == 0
    assert re.search(r"^max_steps: null +# .* \[600\]$", capsys.readouterr().out, re.M)


def test_the_printed_yaml_is_a_config_that_says_the_same(capsys):
    flags = ["--env-id", "CarRacing-v3", "--resize", "84", "--crop", "0,0,12,0", "--env-kwargs", "continuous=false"]
    assert main(["config", *flags]) == 0
    text = capsys.readouterr().out
    Path("again.yaml").write_text(text)
    assert main(["config", *flags, "--json"]) == 0
    wanted = last_json(capsys)
    assert make_settings(read_config("again.yaml")).model_dump(mode="json") == wanted
    assert "frame_skip: null" in text
    assert all("  # " in line for line in text.splitlines() if line and not line.startswith("#"))


def test_all_faults_are_told_at_once(capsys):
    Path("bad.yaml").write_text("learning_rat: 1\nfoo: 2\nn_steps: many\ncrop: [1, 2]\ngamma: 3\n")
    assert main(["config", "--config", "bad.yaml", "--n-epochs", "0"]) == 2
    (line,) = [text for text in capsys.readouterr().err.splitlines() if text.startswith("parcade: ")]
    for part in ("'learning_rat' (did you mean 'learning_rate'?)", "'foo'", "n_steps", "crop", "gamma", "n_epochs"):
        assert part in line


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("reward_clip: true", 1.0),
        ("reward_clip: false", None),
        ("reward_clip: [-2, 2]", 2.0),
        ("reward_clip: null", None),
    ],
)
def test_ways_to_write_a_reward_clip(text, wanted):
    Path("clip.yaml").write_text(f"env_id: CartPole-v1\n{text}\n")
    assert make_settings(read_config("clip.yaml")).reward_clip == wanted


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"env_id": "CartPole-v1", "racing": "official"}, "racing 'official' is for env_id CarRacing-v3"),
        ({"env_id": "parcade/CarRacing-v3", "racing": "official"}, "is the fast track"),
        ({"env_id": "CarRacing-v3", "crop": (1, 2, -1, 0)}, "four numbers from 0 on"),
        ({"env_id": "CarRacing-v3", "resize": (1, 2, 3)}, "wanted 2 numbers"),
    ],
)
def test_what_does_not_go_together_is_refused(given, fault):
    from parcade.errors import SettingsError

    with pytest.raises(SettingsError, match=fault):
        settings_for(given)


def test_the_schema_knows_every_key(capsys):
    assert main(["config", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == schema()
    assert set(printed["properties"]) == {*TrainSettings.model_fields, *ALIASES, "$schema"}
    assert printed["additionalProperties"] is False
    assert all(field.get("description") for name, field in printed["properties"].items() if name != "$schema")
    assert {"enum": ["fast", "official"], "type": "string"} in printed["properties"]["racing"]["anyOf"]


def test_a_file_may_name_its_schema():
    Path("mine.json").write_text('{"$schema": "parcade.schema.json", "env_id": "CartPole-v1", "seed": 5}')
    assert make_settings(read_config("mine.json")).seed == 5


def test_a_rom_alone_picks_its_title(capsys):
    rom = str(Path(parcade.roms.__file__).with_name("meadow.gba"))
    assert main(["config", "--json", "--rom", rom]) == 0
    settings = json.loads(capsys.readouterr().out)
    assert (settings["game"], settings["rom"]) == ("meadow", rom)
    assert settings["n_envs"] == 32  # what suits the title comes along
