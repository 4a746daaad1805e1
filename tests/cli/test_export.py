"""`parcade export` as a user runs it: a trained model, real play, and files that other programs open."""

import json

import numpy as np
import pytest

from parcade import load_policy, train
from parcade.cli.main import main

SMALL = {"n_envs": 2, "n_steps": 32, "n_workers": 0, "eval_freq": 0, "final_eval_episodes": 0, "video": False}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = str(tmp_path_factory.mktemp("runs"))
    return {
        "lantern": train(game="lantern", total_timesteps=64, log_root=root, max_steps=40, **SMALL).model,
        "cartpole": train(env_id="CartPole-v1", lstm=8, total_timesteps=64, log_root=root, **SMALL).model,
    }


def export(capsys, *words):
    code = main(["export", *map(str, words), "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out.splitlines()[-1]), said.err


def test_onnx_of_an_lstm_is_checked_over_whole_episodes(models, tmp_path, capsys):
    import onnxruntime

    out = tmp_path / "policy.onnx"
    code, made, _ = export(capsys, "--model", models["cartpole"], "--to", "onnx", "--out", out, "--steps", 60)
    assert code == 0
    assert made["max_difference"] <= 1e-5
    assert made["steps"] >= 60
    assert made["same_actions"] == made["steps"]
    assert (made["env"], made["bytes"]) == ("CartPole-v1", out.stat().st_size)
    session, policy = onnxruntime.InferenceSession(out), load_policy(models["cartpole"])
    env = policy.make_env()
    observation, _ = env.reset(seed=3)
    state, memory, over = policy.begin(), np.zeros((1, 16), np.float32), False
    while not over:
        wanted, state = policy.act(observation, state, deterministic=True)
        action, _, _, memory = session.run(None, {"obs": observation[None], "state": memory})
        assert action[0] == wanted
        observation, _, terminated, truncated, _ = env.step(wanted)
        over = terminated or truncated


def test_a_zip_for_sb3_takes_the_same_actions_in_the_game(models, tmp_path, capsys):
    from stable_baselines3 import PPO

    out = tmp_path / "policy.zip"
    code, made, _ = export(capsys, "--model", models["lantern"], "--to", "sb3", "--out", out, "--steps", 30)
    assert code == 0
    assert made["max_difference"] <= 1e-5
    policy = load_policy(models["lantern"])
    env = policy.make_env()
    theirs = PPO.load(out, env=env, device="cpu")  # SB3 compares the spaces
    observation, _ = env.reset(seed=5)
    for _ in range(20):
        action = policy.act(observation, deterministic=True)
        assert theirs.predict(observation, deterministic=True)[0] == action
        observation, *_ = env.step(action)
    env.close()


def test_torchscript_says_in_words_how_it_was_checked(models, tmp_path, capsys):
    out = tmp_path / "policy.pt"
    words = ["--model", models["lantern"], "--to", "torchscript", "--out", str(out), "--steps", "10"]
    assert main(["export", *words]) == 0
    said = capsys.readouterr().out
    assert f"{out} holds the policy" in said
    assert "of lantern: max difference" in said
    assert "all actions the same" in said
    assert [file.name for file in tmp_path.iterdir()] == ["policy.pt"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "tflite"], "invalid choice: 'tflite'"),
        (["--to", "onnx", "--steps", "0"], "steps is 0, wanted 1 or more"),
        (["--to", "onnx", "--out", "nowhere/policy.onnx"], "the folder of nowhere/policy.onnx does not exist"),
        (["--to", "onnx", "--out", "."], ". is a folder, a pipe or a device"),
        (["--to", "sb3"], "Stable-Baselines3 cannot express an LSTM in PPO; use --to onnx or --to torchscript"),
        (["--to", "onnx", "--model", "nothing.zip"], "there is no model at nothing.zip"),
        (["--to", "onnx", "--seed", "-1"], "--seed is -1, wanted 0 or more"),
        (["--to", "onnx", "--game", "lantern"], "game"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, made, said = export(capsys, "--model", models["cartpole"], "--out", "policy.out", *words)
    assert code == 2
    assert sentence in made["error"]
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_there_stays_where_an_export_fails(models, tmp_path, capsys):
    out = tmp_path / "policy.zip"
    out.write_text("mine")
    assert export(capsys, "--model", models["cartpole"], "--to", "sb3", "--out", out)[0] == 2
    assert out.read_text() == "mine"
