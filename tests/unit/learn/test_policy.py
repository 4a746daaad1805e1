import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.errors import EnvError, SettingsError
from parcade.learn.encoders import LeafShape
from parcade.learn.flat import FlatParameters
from parcade.learn.policy import NetSettings, Policy

LEAVES = {"pixels": ((2, 40, 40), "uint8"), "features": ((5,), "float32")}


def rows(n):
    rng = np.random.default_rng(0)
    pixels = torch.from_numpy(rng.integers(0, 256, (n, 2, 40, 40), np.uint8))
    return {"pixels": pixels, "features": torch.from_numpy(rng.normal(size=(n, 5)).astype(np.float32))}


@pytest.mark.parametrize("cnn", ["small", "pooled", "nature", "impala"])
def test_pictures_are_scaled_to_one(cnn):
    policy = Policy({"pixels": LEAVES["pixels"]}, spaces.Discrete(3), NetSettings(cnn=cnn))
    encoder = policy.encoders["pixels"]
    pixels = rows(3)["pixels"]
    wanted = encoder.head(encoder.convolutions(pixels.float() / 255).flatten(1))
    assert torch.allclose(encoder(pixels), wanted, rtol=1e-4, atol=1e-4)


def test_pictures_may_have_their_channels_last():
    first = Policy({"pixels": ((3, 40, 48), "uint8")}, spaces.Discrete(3), NetSettings())
    last = Policy({"pixels": ((40, 48, 3), "uint8")}, spaces.Discrete(3), NetSettings())
    last.load_state_dict(first.state_dict())
    pixels = torch.randint(0, 256, (5, 3, 40, 48), dtype=torch.uint8)
    wanted, got = first({"pixels": pixels}), last({"pixels": pixels.permute(0, 2, 3, 1).contiguous()})
    assert torch.allclose(wanted[0], got[0])
    assert torch.allclose(wanted[1], got[1])


@pytest.mark.parametrize(("cnn", "least"), [("small", 20), ("nature", 36)])
def test_a_picture_too_small_for_the_network_is_refused(cnn, least):
    Policy({"pixels": ((1, least, least), "uint8")}, spaces.Discrete(3), NetSettings(cnn=cnn))
    words = f"a picture of {least} x {least - 1} is too small for cnn '{cnn}', which needs {least} x {least}"
    with pytest.raises(EnvError, match=words):
        Policy({"pixels": ((1, least, least - 1), "uint8")}, spaces.Discrete(3), NetSettings(cnn=cnn))


def test_a_mask_forbids_and_is_not_seen():
    leaves = {"seen": ((5,), "float32"), "action_mask": ((3,), "int8")}
    policy = Policy(leaves, spaces.Discrete(3), NetSettings())
    seen = torch.ones(2, 5)
    params, values = policy({"seen": seen, "action_mask": torch.tensor([[1, 1, 0], [0, 1, 1]])})
    assert torch.equal(params < -1e8, torch.tensor([[False, False, True], [True, False, False]]))
    values = values.detach()
    assert float(values[0]) == pytest.approx(float(values[1]), abs=1e-6)
    assert list(policy.encoders) == ["seen"]


@pytest.mark.parametrize(
    ("shape", "action"), [((4,), spaces.Discrete(3)), ((2,), spaces.Box(-1, 1, (2,))), ((2, 3), spaces.Discrete(3))]
)
def test_a_mask_that_does_not_fit_is_refused(shape, action):
    leaves = {"seen": ((5,), "float32"), "action_mask": (shape, "int8")}
    with pytest.raises(EnvError, match="the observation leaf action_mask of shape"):
        Policy(leaves, action, NetSettings())


def test_a_mask_alone_is_refused():
    with pytest.raises(EnvError, match="nothing but action_mask"):
        Policy({"action_mask": ((3,), "int8")}, spaces.Discrete(3), NetSettings())


def test_a_policy_with_memory_is_not_asked_without_its_state():
    with pytest.raises(RuntimeError, match="needs its state"):
        Policy(LEAVES, spaces.Discrete(3), NetSettings(lstm=8))(rows(2))


def test_an_unknown_cnn_is_refused():
    with pytest.raises(SettingsError, match="use small, pooled, nature, impala"):
        Policy(LEAVES, spaces.Discrete(3), NetSettings(cnn="large"))


def test_moments_of_vectors_are_in_the_state_dict():
    policy = Policy(LEAVES, spaces.Discrete(3), NetSettings(normalize_obs=True))
    policy.observe(rows(50))
    other = Policy(LEAVES, spaces.Discrete(3), NetSettings(normalize_obs=True))
    other.load_state_dict(policy.state_dict())
    assert torch.equal(other.encoders["features"].moments.mean, policy.encoders["features"].moments.mean)
    assert policy.encoders["features"].moments.mean.any()
    assert torch.equal(other(rows(4))[0], policy(rows(4))[0])


def test_flat_parameters_keep_values_layout_and_take_gradients():
    policy = Policy(LEAVES, spaces.Box(-1, 1, (2,)), NetSettings(cnn="nature"))
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    layouts = {name: weight.stride() for name, weight in policy.named_parameters()}
    params, values = policy(rows(4))
    wanted = torch.autograd.grad(params.square().sum() + values.sum(), list(policy.parameters()))
    flat = FlatParameters(list(policy.parameters()))
    assert all(torch.equal(weight, before[name]) for name, weight in policy.state_dict().items())
    assert {name: weight.stride() for name, weight in policy.named_parameters()} == layouts
    params, values = policy(rows(4))
    flat.gradients_of(params.square().sum() + values.sum())
    norm = torch.stack([gradient.norm() for gradient in wanted]).norm()
    assert torch.allclose(flat.weights.grad.norm(), norm, rtol=1e-5)
    assert torch.allclose(flat._gradients[0], wanted[0], atol=1e-6)
    flat.clip_gradients(0.5)
    assert float(flat.weights.grad.norm()) == pytest.approx(0.5, rel=1e-4)
    flat.clip_gradients(10.0)
    assert float(flat.weights.grad.norm()) == pytest.approx(0.5, rel=1e-4)
    with torch.no_grad():
        flat.weights.mul_(2)
    assert all(torch.equal(weight, 2 * before[name]) for name, weight in policy.state_dict().items())


def test_bfloat16_changes_little_and_leaves_weights_and_results_in_float32():
    torch.manual_seed(0)
    policy = Policy({"pixels": LEAVES["pixels"]}, spaces.Discrete(3), NetSettings(cnn="small"))
    seen = {"pixels": rows(8)["pixels"]}
    exact = policy(seen)
    policy.use_bfloat16(True)
    params, values = policy(seen)
    assert params.dtype == values.dtype == torch.float32
    assert not torch.equal(values, exact[1])
    assert torch.allclose(values, exact[1], atol=0.05)
    values.sum().backward()
    assert all(p.dtype == torch.float32 for p in policy.parameters())
    assert all(p.grad.dtype == torch.float32 for p in policy.encoders.parameters())
    policy.use_bfloat16(False)
    assert torch.equal(policy(seen)[1], exact[1])


def test_numbers_that_name_choices_are_seen_one_hot():
    leaf = LeafShape((2,), "int64", ((3, 0), (2, 5)))
    policy = Policy({"obs": leaf}, spaces.Discrete(3), NetSettings(hidden=(4,)))
    assert policy.encode({"obs": torch.tensor([[0, 6], [2, 5]])}).tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0]]


def test_too_many_choices_are_refused_with_advice():
    with pytest.raises(EnvError, match="1,000,000 choices is too large"):
        Policy({"obs": LeafShape((), "int64", ((1_000_000, 0),))}, spaces.Discrete(3), NetSettings())
