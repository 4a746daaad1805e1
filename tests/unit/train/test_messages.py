import pickle

import torch

from parcade.train.spread.messages import Learned, by_value


def test_a_message_arrives_with_equal_tensors_of_its_own():
    weights = {
        "picture": torch.randn(16, 4, 8, 8).to(memory_format=torch.channels_last),
        "every_other": torch.randn(6)[::2],
        "learned": torch.nn.Parameter(torch.randn(3)),
    }
    sent = Learned({"loss": 1.5}, 7, {"step": torch.tensor(3.0), "updates": torch.tensor([4])}, weights)

    found = pickle.loads(by_value(sent))

    assert (found.losses, found.check) == (sent.losses, sent.check)
    for ours, theirs in ((sent.state, found.state), (sent.weights, found.weights)):
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
        assert all(tensor.dtype == theirs[name].dtype for name, tensor in ours.items())
    before = weights["every_other"].clone()
    found.weights["every_other"].zero_()  # writable, and nobody else's
    assert torch.equal(weights["every_other"], before)


def test_no_tensor_is_packed_in_torchs_own_way():
    assert b"_rebuild" not in by_value({"weights": torch.randn(4)})
