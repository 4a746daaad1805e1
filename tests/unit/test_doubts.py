"""Settings that do nothing, or too much, are told and not refused."""

import pytest
from gymnasium import spaces

from parcade.assembly import doubts, net_of
from parcade.cores import usable_cores
from parcade.learn.policy import Policy
from parcade.settings import make_settings

VECTOR, PICTURE = {"obs": ((4,), "float32")}, {"obs": ((1, 40, 40), "uint8")}


def told(leaves, **given):
    settings = make_settings({"env_id": "CartPole-v1", **given})
    return doubts(settings, Policy(leaves, spaces.Discrete(2), net_of(settings)))


@pytest.mark.parametrize(("name", "value"), [("cnn", "nature"), ("precision", "bfloat16")])
def test_what_is_for_pictures_has_no_effect_without_them(name, value):
    assert told(VECTOR, **{name: value}) == [f"{name} {value} has no effect: the env shows no pictures"]
    assert told(PICTURE, **{name: value}) == []


def test_more_threads_than_cores():
    (words,) = told(VECTOR, num_threads=usable_cores() + 1)
    assert words.startswith(f"num_threads is {usable_cores() + 1}, but {usable_cores()} cores can be used")
    assert told(VECTOR, num_threads=usable_cores()) == []


def test_the_defaults_raise_no_doubts():
    assert told(VECTOR) == told(PICTURE) == []
