"""Every network and action kind answers the same in each format: scaling, one-hot, masks and memory are inside."""

import json

import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.export import onnx_file, sb3_file, torchscript_file
from parcade.export.export import ROUNDING
from parcade.export.recorded import compare
from parcade.learn.encoders import LeafShape
from parcade.learn.policy import NetSettings, Policy

VECTOR = spaces.Box(-np.inf, np.inf, (7,), np.float32)
GREY, COLOUR = spaces.Box(0, 255, (2, 40, 44), np.uint8), spaces.Box(0, 255, (40, 44, 3), np.uint8)
MIXED = spaces.Dict({"far": VECTOR, "kind": spaces.MultiDiscrete([3, 2]), "seen": GREY, "on": spaces.MultiBinary(3)})
MASKED = spaces.Dict({"obs": VECTOR, "action_mask": spaces.MultiBinary(5)})
NESTED = spaces.Dict({"a": spaces.Dict({"b": VECTOR}), "c": spaces.Discrete(4, start=2)})
ARM = spaces.Box(np.array([[-1.0, 0.0]], np.float32), np.array([[2.0, 3.0]], np.float32))

# observation space, action space, network
CASES = {
    "scaled vector": (VECTOR, spaces.Discrete(5, start=3), NetSettings(normalize_obs=True)),
    "memory and mask": (MASKED, spaces.Discrete(5), NetSettings(lstm=12)),
    "mixed": (MIXED, spaces.MultiDiscrete([3, 4]), NetSettings(cnn="nature", activation="relu")),
    "vector": (VECTOR, spaces.Discrete(5), NetSettings(hidden=(16,), activation="relu")),
    "no hidden layer": (VECTOR, spaces.Discrete(5), NetSettings(hidden=())),
    "discrete": (spaces.Discrete(9), spaces.MultiBinary(4), NetSettings()),
    "nested": (NESTED, spaces.Discrete(3), NetSettings(normalize_obs=True)),
    "switches": (VECTOR, spaces.MultiBinary((2, 3)), NetSettings()),
    "choices": (VECTOR, spaces.MultiDiscrete([[2, 3], [4, 2]], start=[[0, 1], [5, 0]]), NetSettings()),
    "gaussian": (VECTOR, ARM, NetSettings(normalize_obs=True)),
    "unbounded": (VECTOR, spaces.Box(-np.inf, np.inf, (2,), np.float32), NetSettings()),
    "beta": (VECTOR, ARM, NetSettings(box="beta")),
    "small": (GREY, spaces.Discrete(5), NetSettings(cnn="small")),
    "pooled": (GREY, spaces.Discrete(5), NetSettings(cnn="pooled")),
    "nature": (GREY, spaces.Discrete(5), NetSettings(cnn="nature", hidden=(32,))),
    "impala": (COLOUR, spaces.Box(-1, 1, (3,), np.float32), NetSettings(cnn="impala")),
    "mixed small": (MIXED, spaces.Discrete(4), NetSettings(cnn="small", normalize_obs=True)),
    "pictures with memory": (GREY, spaces.Discrete(5), NetSettings(cnn="small", lstm=16)),
    "beta with memory": (VECTOR, ARM, NetSettings(box="beta", lstm=16, normalize_obs=True)),
}
QUICK = ["memory and mask"]
REFUSED = {
    "memory and mask": "an LSTM in PPO",
    "pictures with memory": "an LSTM in PPO",
    "beta": "a Beta distribution",
    "beta with memory": "an LSTM in PPO",
    "scaled vector": "choices that do not start at 0",
    "choices": "choices that do not start at 0",
    "nested": "choices that do not start at 0",
    "switches": r"actions of shape \(2, 3\)",
}


def made_policy(case):
    from parcade.env.slot import leaf_choices, leaves

    space, actions, net = CASES[case]
    choices = leaf_choices(space)
    shapes = {
        name: LeafShape(shape, str(dtype), choices.get(name, ())) for name, (shape, dtype) in leaves(space).items()
    }
    torch.manual_seed(5)
    policy = Policy(shapes, actions, net)
    with torch.no_grad():
        for weight in policy.parameters():  # as after a training: nothing is zero
            weight.add_(0.01 * torch.randn(weight.shape))
        for name, buffer in policy.named_buffers():
            if name.endswith("moments.mean"):
                buffer.copy_(torch.randn(buffer.shape))
            if name.endswith("moments.var"):
                buffer.copy_(torch.rand(buffer.shape) * 3)
    return policy.eval()


def episodes(case, lengths=(40, 3)):
    from parcade.env.slot import observation_rows

    space = CASES[case][0]
    space.seed(7)
    played = []
    for length in lengths:
        steps = [observation_rows(space.sample()) for _ in range(length)]
        for rows in steps:
            if "action_mask" in rows:
                rows["action_mask"] = np.maximum(rows["action_mask"], np.eye(5, dtype=np.int8)[2])
        played.append(steps)
    return played


def check(case, exported):
    found = compare(made_policy(case), exported, episodes(case))
    assert found.largest <= ROUNDING, found
    assert (found.steps, found.episodes, found.other_actions) == (43, 2, 0)


@pytest.mark.parametrize("case", [c if c in QUICK else pytest.param(c, marks=pytest.mark.long) for c in CASES])
def test_onnx_answers_as_the_policy_does(case, tmp_path):
    policy, path = made_policy(case), tmp_path / "policy.onnx"
    onnx_file.write(policy, path, {"env": "toy"})
    check(case, onnx_file.OnnxPolicy(policy, path))
    assert [file.name for file in tmp_path.iterdir()] == ["policy.onnx"]  # the weights are inside


@pytest.mark.parametrize("case", CASES)
def test_torchscript_answers_as_the_policy_does(case, tmp_path):
    policy, path = made_policy(case), tmp_path / "policy.pt"
    torchscript_file.write(policy, path, {"env": "toy"})
    check(case, torchscript_file.TorchScriptPolicy(policy, path))


@pytest.mark.parametrize("case", [case for case in CASES if case not in REFUSED])
def test_sb3_answers_as_the_policy_does(case, tmp_path):
    policy, path = made_policy(case), tmp_path / "policy.zip"
    sb3_file.write(policy, path, CASES[case][0])
    check(case, sb3_file.Sb3Policy(policy, path))


@pytest.mark.parametrize("case", REFUSED)
def test_what_sb3_cannot_express_is_refused(case, tmp_path):
    with pytest.raises(sb3_file.Sb3Error, match=REFUSED[case] + ".*; use --to onnx or --to torchscript"):
        sb3_file.write(made_policy(case), tmp_path / "policy.zip", CASES[case][0])
    assert not list(tmp_path.iterdir())


def test_files_take_any_number_of_rows_and_say_what_they_are(tmp_path):
    import onnxruntime

    policy, space = made_policy("scaled vector"), CASES["scaled vector"][0]
    rows = np.stack([space.sample() for _ in range(5)])
    meta = {"env": "toy"}
    onnx_file.write(policy, tmp_path / "policy.onnx", meta)
    torchscript_file.write(policy, tmp_path / "policy.pt", meta)
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    extra = {torchscript_file.META: ""}
    script = torch.jit.load(tmp_path / "policy.pt", _extra_files=extra)
    wanted = policy({"obs": torch.from_numpy(rows)})[0].detach().numpy()
    assert [output.name for output in session.get_outputs()] == ["action", "params", "value"]
    assert np.allclose(session.run(["params"], {"obs": rows})[0], wanted, atol=ROUNDING)
    assert np.allclose(script(torch.from_numpy(rows))[1].detach().numpy(), wanted, atol=ROUNDING)
    assert json.loads(session.get_modelmeta().custom_metadata_map["parcade"]) == meta
    assert json.loads(extra[torchscript_file.META]) == meta
    data = (tmp_path / "policy.onnx").read_bytes()
    assert b".py" not in data, "the file names places of the machine that wrote it"


def test_a_difference_is_seen():
    policy, other = made_policy("vector"), made_policy("vector")
    with torch.no_grad():
        other.actor.linear[-1].bias[0] += 20
    from parcade.export.recorded import OwnPolicy

    found = compare(policy, OwnPolicy(other), episodes("vector"))
    assert found.largest > 1
    assert found.other_actions == found.steps
