"""Learned novelty: what was seen often pays less than what is new, and a checkpoint holds all of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from parcade.errors import ModelFileError
from parcade.explore.prediction import PredictionNovelty


def a_block(rows):
    steps, envs = rows.shape[:2]
    ended = np.zeros((steps - 1, envs), bool)
    return SimpleNamespace(obs={"obs": rows}, reward=np.zeros((steps - 1, envs)), ended=ended)


def usual(rng, shape=(9, 4, 6)):
    return rng.normal(size=shape).astype(np.float32) * 0.1


def test_the_unseen_pays_more_than_the_usual():
    rng = np.random.default_rng(0)
    novelty = PredictionNovelty({"obs": usual(rng)}, seed=1)
    for _ in range(60):
        before = novelty.bonuses(a_block(usual(rng)))
    rows = usual(rng)
    rows[5, 2] = 3.0
    bonus = novelty.bonuses(a_block(rows))
    assert bonus[4, 2] > 5 * np.median(bonus)
    assert np.median(before) < 1.0


def test_an_end_pays_nothing():
    rng = np.random.default_rng(0)
    block = a_block(usual(rng))
    block.ended[3, 1] = True
    bonus = PredictionNovelty(block.obs, seed=1).bonuses(block)
    assert bonus[3, 1] == 0.0
    assert np.count_nonzero(bonus) == bonus.size - 1


@pytest.mark.parametrize("pictures", [False, True])
def test_state_is_everything(pictures):
    rng = np.random.default_rng(0)
    make = (lambda: rng.integers(0, 256, (5, 2, 1, 40, 44), np.uint8)) if pictures else (lambda: usual(rng))
    first = make()
    one, other = PredictionNovelty({"obs": first}, 3), PredictionNovelty({"obs": first}, 3)
    for _ in range(3):
        one.bonuses(a_block(make()))
    other.load_state(one.state())
    block = a_block(make())
    assert one.bonuses(block).tobytes() == other.bonuses(block).tobytes()
    block = a_block(make())
    assert one.bonuses(block).tobytes() == other.bonuses(block).tobytes()


def test_a_state_of_another_observation_is_refused():
    rng = np.random.default_rng(0)
    one, other = (PredictionNovelty({"obs": usual(rng, (3, 2, n))}, 3) for n in (6, 7))
    with pytest.raises(ModelFileError, match="another observation"):
        other.load_state(one.state())
