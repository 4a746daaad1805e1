"""Settings that do nothing are told and not refused; a rollout larger than the machine is refused."""

import pytest
from gymnasium import spaces

from parcade.assembly import doubts, net_of, rollout_of
from parcade.cores import usable_cores
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.learn.policy import Policy
from parcade.pool.serial_pool import SerialPool
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


def test_a_rollout_larger_than_the_machine_is_refused():
    given = {"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 10**10}
    settings = make_settings(given)
    with SerialPool(EnvSpec(env_id="CartPole-v1"), 2) as pool:
        policy = Policy(VECTOR, pool.action_space, net_of(settings))
        with pytest.raises(SettingsError, match=r"a rollout of n_steps 10,000,000,000 x n_envs 2 takes [\d,.]+ GiB"):
            rollout_of(settings, pool, policy)
        assert rollout_of(make_settings({**given, "n_steps": 8}), pool, policy).n_steps == 8
