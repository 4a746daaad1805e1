"""Which saved policy of a run is asked, and what it answers."""

import io

import numpy as np
import pytest
from gymnasium import spaces

from parcade.env.space_json import space_to_json
from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError
from parcade.learn.encoders import LeafShape
from parcade.learn.policy import NetSettings, Policy
from parcade.run.array_message import receive_message, send_message
from parcade.run.model_file import save_model
from parcade.train.saved_policy import MEMORY, SavedPolicies, serve

LEAVES = {"obs": LeafShape((5,), "float32")}


def saved(run, name, env_steps, lstm=0):
    net = NetSettings(lstm=lstm)
    policy = Policy(dict(LEAVES), spaces.Discrete(3), net)
    meta = {
        "env": EnvSpec(game="lantern").to_dict(),
        "leaves": {name: [list(leaf.shape), leaf.dtype] for name, leaf in LEAVES.items()},
        "action_space": space_to_json(spaces.Discrete(3)),
        "net": net.to_dict(),
        "env_steps": env_steps,
    }
    (run / "models").mkdir(exist_ok=True)
    save_model(run / "models" / name, policy.state_dict(), meta)
    return policy


def question(rng, n, size=0):
    return {"obs": rng.normal(size=(n, 5)).astype(np.float32), MEMORY: np.zeros((n, size), np.float32)}


def test_the_policy_saved_nearest_is_asked(tmp_path):
    for name, steps in (("best_model.zip", 900), ("final_model.zip", 5000), ("model_000000002000.zip", 2000)):
        saved(tmp_path, name, steps)
    policies = SavedPolicies(tmp_path)
    assert policies.open(None, 1100)["name"] == "models/best_model.zip"
    assert policies.open(None, 1900)["name"] == "models/model_000000002000.zip"
    told = policies.open("models/final_model.zip", 0)
    assert (told["name"], told["env_steps"]) == ("models/final_model.zip", 5000)
    assert [one["env_steps"] for one in told["policies"]] == [5000, 2000, 900]
    with pytest.raises(ModelFileError, match=r"models/other\.zip is not there any more"):
        policies.open("models/other.zip", 0)
    with pytest.raises(ModelFileError, match=r"\.\./secret\.zip is not there any more"):
        policies.open("../secret.zip", 0)


def test_a_run_without_policies_says_so(tmp_path):
    with pytest.raises(ModelFileError, match="this run has saved no policy yet"):
        SavedPolicies(tmp_path).open(None, 0)


def test_a_damaged_file_is_named_without_its_folder(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step_000000000100.ckpt").write_bytes(b"nonsense")
    with pytest.raises(ModelFileError, match=r"^checkpoints/step_000000000100\.ckpt is not a Parcade"):
        SavedPolicies(tmp_path).open(None, 0)


def test_memory_goes_from_one_observation_to_the_next(tmp_path):
    saved(tmp_path, "best_model.zip", 1, lstm=4)
    policies = SavedPolicies(tmp_path)
    size = policies.open(None, 1)["memory"]
    assert size == 8
    asked = question(np.random.default_rng(1), 6, size)
    at_once = policies.answer(dict(asked))
    first = policies.answer({name: rows[:4] for name, rows in asked.items()})
    rest = {"obs": asked["obs"][4:], MEMORY: np.repeat(first[MEMORY][-1:], 2, 0)}
    second = policies.answer(dict(rest))
    for name in ("params", "values", MEMORY):
        assert np.array_equal(np.concatenate([first[name], second[name]]), at_once[name])
    forgotten = policies.answer({**rest, MEMORY: np.zeros((2, size), np.float32)})
    assert not np.array_equal(forgotten["values"], second["values"])


def test_questions_are_answered_until_there_are_no_more(tmp_path):
    saved(tmp_path, "best_model.zip", 1)
    asked, answers = io.BytesIO(), io.BytesIO()
    rows = question(np.random.default_rng(2), 3)
    send_message(asked, {"open": None, "near": 4})
    send_message(asked, {}, rows)
    send_message(asked, {}, {**rows, "obs": rows["obs"][:, :2]})
    asked.seek(0)
    serve(SavedPolicies(tmp_path), asked, answers)
    answers.seek(0)
    assert receive_message(answers)[0]["action_space"]["n"] == 3
    _, found = receive_message(answers)
    assert (found["params"].shape, found["values"].shape) == ((3, 3), (3,))
    assert "the policy observes {'obs': (5,)}" in receive_message(answers)[0]["failed"]
    assert receive_message(answers) is None
