"""What settings tell before there is an env."""

import pytest

from parcade.config.settings import make_settings
from parcade.env.judged import completed
from parcade.train.assembly import _will_need_torch

VECTORS = [{"game": "lantern"}, {"env_id": "CartPole-v1"}]
PICTURES = [
    *({"game": "lantern", "observation": "pixels"}, {"game": "lantern", "observation": "both"}),
    *({"env_id": "ALE/Pong-v5"}, {"env_id": "CarRacing-v3"}, {"env_id": "Some-v0", "grayscale": True}),
    *({"env_id": "Some-v0", "crop": (1, 0, 0, 0)}, {"env_id": "CartPole-v1", "lstm": 8}),
]


@pytest.mark.parametrize("given", VECTORS + PICTURES, ids=str)
def test_workers_get_torch_from_their_fork_server_for_pictures_and_memory(given):
    assert _will_need_torch(make_settings(completed({**given, "device": "cpu"}))) == (given in PICTURES)
