import numpy as np
import pytest
import torch

from parcade.errors import ModelFileError
from parcade.run.archive import write_archive
from parcade.run.model_file import load_model, load_weights, save_model

META = {"env": {}, "leaves": {}, "action_space": {}, "net": {}}


def network():
    return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.Linear(4, 2)).to(memory_format=torch.channels_last)


def test_a_network_comes_back_to_the_bit(tmp_path):
    first, second = network(), network()
    save_model(tmp_path / "m.zip", first.state_dict(), META)
    model = load_model(tmp_path / "m.zip")
    load_weights(second, model.weights, "m.zip")
    assert model.meta == META
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])


@pytest.mark.parametrize("missing", sorted(META))
def test_a_missing_part_is_named(tmp_path, missing):
    save_model(tmp_path / "m.zip", {}, {key: value for key, value in META.items() if key != missing})
    with pytest.raises(ModelFileError, match=f"lacks {missing}"):
        load_model(tmp_path / "m.zip")


def test_missing_weights_are_named(tmp_path):
    write_archive(tmp_path / "m.zip", "model", META, {"other": {"a": np.zeros(1)}})
    with pytest.raises(ModelFileError, match="lacks weights"):
        load_model(tmp_path / "m.zip")


@pytest.mark.parametrize("fault", ["shape", "missing", "unknown", "kind of number"])
def test_weights_of_another_network_are_refused_and_change_nothing(fault):
    target = network()
    before = {name: weight.clone() for name, weight in target.state_dict().items()}
    weights = {name: torch.ones_like(weight) for name, weight in before.items()}
    if fault == "shape":
        weights["1.weight"] = torch.ones(2, 5)
    elif fault == "missing":
        del weights["1.weight"]
    elif fault == "kind of number":
        weights["1.weight"] = weights["1.weight"].to(torch.int8)
    else:
        weights["evil"] = torch.ones(1)
    with pytest.raises(ModelFileError, match=r"does not fit the network: (1\.weight|evil)"):
        load_weights(target, weights, "m.zip")
    assert all(torch.equal(weight, before[name]) for name, weight in target.state_dict().items())
