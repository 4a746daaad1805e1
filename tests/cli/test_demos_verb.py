"""Demonstrations: recorded by a model or a bot, listed, checked, and learned from in whatever the training sees."""

import json
from pathlib import Path

import numpy as np
import pytest

from parcade import train
from parcade.cli.main import main
from parcade.env.make import make
from parcade.env.slot import fresh_rows
from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord, read_episodes, write_episodes
from parcade.train.demonstrations import load_demos, observations_of
from parcade.train.recording import record_bot

BOT = """
def walk(env):
    steps = iter(range(1000))
    return lambda observation: (1, 4, 4, 2)[next(steps) % 4]

def silly(env):
    return lambda observation: 99

nothing = 3
"""


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    """Two episodes of a bot that walks about in Lantern."""
    folder = tmp_path_factory.mktemp("demos")
    (folder / "walker_bot.py").write_text(BOT)
    spec = EnvSpec(game="lantern", max_steps=25)
    path = folder / "demos.zip"
    scope = {}
    exec(BOT, scope)
    record_bot(scope["walk"], spec, path, episodes=2, seed=3)
    return path


def answer(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_bot_is_recorded_by_name(demos, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(demos.parent)
    file = tmp_path / "again.zip"
    words = ["record", "--bot", "walker_bot:walk", "--game", "lantern", "--max-steps", "25"]
    code, out, _ = answer(capsys, *words, "--episodes", "2", "--seed", "3", "--json", str(file))
    assert code == 0
    assert json.loads(out.splitlines()[-1]) == {"file": str(file), "episodes": 2, "steps": 50}
    assert file.read_bytes() == demos.read_bytes()


def test_the_file_lists_and_checks_itself(demos, capsys, tmp_path):
    code, out, _ = answer(capsys, "demos", str(demos))
    assert code == 0
    assert "2 episodes (50 steps) of lantern, by a bot, Parcade" in out
    assert len(out.splitlines()) == 4
    code, out, err = answer(capsys, "demos", str(demos), "--check", "--json")
    assert code == 0
    assert json.loads(out.splitlines()[-1])["differences"] == {}
    assert "all 2 replay" in err
    video = tmp_path / "demo.mp4"
    assert answer(capsys, "demos", str(demos), "--episode", "2", "--video", str(video))[0] == 0
    assert video.stat().st_size > 1000


def changed(path, to, **changes):
    """Write a copy of the demonstrations in which something is another."""
    records = read_episodes(path)
    origin = EpisodeOrigin(**{**records[0].origin.to_dict(), **changes.pop("origin", {})})
    made = [
        EpisodeRecord(origin, **{**{n: getattr(r, n) for n in r.__slots__ if n != "origin"}, **changes})
        for r in records
    ]
    write_episodes(to, made)
    return to


def test_one_recording_serves_features_and_pixels(demos):
    record = load_demos(demos)[0]
    for seeing in ({}, {"observation": "pixels", "frames_stack": 2}, {"observation": "both", "picture_size": "full"}):
        spec = EnvSpec(game="lantern", max_steps=25, **seeing)
        seen = observations_of(record, EnvSpec(game="lantern", reward_weights={"step": -5.0}, **seeing))
        env = make(spec)
        rows = fresh_rows(env.observation_space)
        env.begin(record.seed, rows)
        for step in range(record.length):
            assert all(seen[leaf][step].tobytes() == row.tobytes() for leaf, row in rows.items())
            env.advance(record.actions["obs"][step], rows)
        env.close()
    assert {leaf: rows.shape for leaf, rows in seen.items()} == {"pixels": (25, 1, 144, 160), "features": (25, 92)}


def test_a_training_learns_from_one_recording_in_both(demos, tmp_path):
    told = []
    settings = {"game": "lantern", "algorithm": "cloning", "demos": str(demos), "n_envs": 2, "n_steps": 8}
    settings |= {"n_workers": 0, "total_timesteps": 32, "batch_size": 16, "eval_freq": 0, "final_eval_episodes": 0}
    for seeing in ("features", "pixels"):
        result = train(
            **settings,
            observation=seeing,
            num_threads=1,
            video=False,
            log_root=str(tmp_path),
            on_event=lambda event: told.append(type(event).__name__),
        )
        rows = [json.loads(line) for line in (Path(result.run_dir) / "metrics.jsonl").read_text().splitlines()]
        assert rows[-1]["losses"]["clone_loss"] < rows[0]["losses"]["clone_loss"]
    assert told.count("Replaying") == 2


@pytest.mark.parametrize(
    ("change", "training", "told"),
    [
        ({}, {"game": "meadow"}, r"demos\.zip was played in lantern, but the training is in meadow"),
        ({}, {"env_id": "CartPole-v1"}, "was played in lantern, but the training is in CartPole-v1"),
        ({}, {"frame_skip": 4}, "was played with frame_skip 6, but the training has 4"),
        ({"origin": {"rom_sha1": "0" * 40}}, {}, r"was played with a ROM of SHA-1 0000.*, but lantern\.gb has"),
        ({"origin": {"parcade": "9.9.0"}, "seed": 1}, {}, r"does not replay: .*recorded with Parcade 9\.9\.0, this is"),
        ({"total_reward": 5.0}, {}, "does not replay: return is .*, recorded was 5.0; its env has changed"),
        ({"actions": {"obs": np.full(25, 9)}}, {}, "holds an action that is not among the 6 of the env"),
    ],
)
def test_what_does_not_fit_is_one_sentence(demos, tmp_path, change, training, told):
    file = changed(demos, tmp_path / "demos.zip", **change)
    settings = {"algorithm": "cloning", "demos": str(file), "n_envs": 2, "n_steps": 8, "n_workers": 0}
    game = {} if "env_id" in training else {"game": "lantern"}
    with pytest.raises(EpisodeFileError, match=told) as error:
        train(**{**game, **settings, **training}, log_root=str(tmp_path / "results"))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "results").exists() or not list((tmp_path / "results").iterdir())


def test_a_damaged_demonstration_is_one_sentence(demos, tmp_path, capsys):
    whole = demos.read_bytes()
    middle = len(whole) // 2
    for number, content in enumerate((b"", whole[:middle], whole[:middle] + b"\0" * 40 + whole[middle + 40 :])):
        file = tmp_path / f"damaged_{number}.zip"
        file.write_bytes(content)
        flags = ("--game", "lantern", "--n-envs", "2", "--n-steps", "8", "--n-workers", "0")
        code, _, err = answer(capsys, "train", "--demos", str(file), *flags, "--log-root", str(tmp_path / "results"))
        assert (code, err.count("\n")) == (2, 1), err
        assert str(file) in err
        assert not (tmp_path / "results").exists() or not list((tmp_path / "results").iterdir())


def test_a_demonstration_of_another_version_that_replays_is_fine(demos, tmp_path):
    file = changed(demos, tmp_path / "demos.zip", origin={"parcade": "9.9.0"})
    assert len(observations_of(load_demos(file)[0], EnvSpec(game="lantern"))["obs"]) == 25


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["demos", "DEMOS", "--episode", "3"], "holds 1 to 2"),
        (["demos", "no.zip"], "there is no recording at no.zip"),
        (["demos", "DEMOS", "--speed", "2"], "add --visual"),
        (["record", "x.zip"], "record needs --model FILE or --bot MODULE:NAME"),
        (["record", "x.zip", "--bot", "walker_bot"], "wanted module:name"),
        (["record", "x.zip", "--bot", "walker_bot:run"], "cannot be loaded: AttributeError"),
        (["record", "x.zip", "--bot", "walker_bot:nothing"], "is a int, wanted a function"),
        (["record", "x.zip", "--bot", "walker_bot:silly"], "the bot chose 99, which is no action of Discrete(6)"),
        (["record", "x.zip", "--bot", "walker_bot:walk", "--deterministic"], "--deterministic is for --model"),
        (["record", "x.zip", "--model", "m.zip", "--max-steps", "3"], "--max-steps is for --bot"),
    ],
)
def test_bad_input_is_one_sentence(demos, words, told, monkeypatch, capsys):
    monkeypatch.chdir(demos.parent)
    code, _, err = answer(capsys, *(str(demos) if word == "DEMOS" else word for word in words))
    assert code == 2
    assert told in err
    assert err.count("\n") == 1
    assert not Path("x.zip").exists()
