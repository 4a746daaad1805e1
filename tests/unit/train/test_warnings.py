"""Settings that do nothing are told and not refused; a rollout larger than the machine is refused."""

import pytest
from gymnasium import spaces

from parcade.config.settings import make_settings
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores
from parcade.learn.policy import Policy
from parcade.train.assembly import check_memory, net_of, warnings_for
from parcade.train.given import settings_for

VECTOR, PICTURE = {"obs": ((4,), "float32")}, {"obs": ((1, 40, 40), "uint8")}


def told(leaves, **given):
    settings = make_settings({"env_id": "CartPole-v1", **given})
    return warnings_for(settings, Policy(leaves, spaces.Discrete(2), net_of(settings)))


@pytest.mark.parametrize(("name", "value"), [("cnn", "nature"), ("precision", "bfloat16")])
def test_what_is_for_pictures_has_no_effect_without_them(name, value):
    assert told(VECTOR, **{name: value}) == [f"{name} {value} has no effect: the env shows no pictures"]
    assert told(PICTURE, **{name: value}) == []


def test_settings_of_other_actions_have_no_effect():
    (words,) = told(VECTOR, box_policy="beta")
    assert words == "box_policy beta has no effect: the actions are Discrete(2), no Box"
    settings = make_settings({"env_id": "CartPole-v1", "box_policy": "beta"})
    assert warnings_for(settings, Policy(VECTOR, spaces.Box(-1, 1, (2,)), net_of(settings))) == []


def test_more_threads_than_cores():
    (words,) = told(VECTOR, num_threads=usable_cores() + 1)
    assert words.startswith(f"num_threads is {usable_cores() + 1}, but {usable_cores()} cores can be used")
    assert told(VECTOR, num_threads=usable_cores()) == []


def test_the_defaults_raise_no_warnings():
    assert told(VECTOR) == told(PICTURE) == []


def test_a_rollout_larger_than_the_machine_is_refused():
    given = {"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 10**10}
    seen = spaces.Box(-1, 1, (4,))
    with pytest.raises(SettingsError, match=r"a rollout of n_steps 10,000,000,000 x n_envs 2 takes [\d,.]+ GiB"):
        check_memory(make_settings(given), seen)
    check_memory(make_settings({**given, "n_steps": 8}), seen)


def test_a_rollout_longer_than_the_training():
    (words,) = told(VECTOR, n_envs=32, n_steps=2048, total_timesteps=20_000)
    assert words.startswith("one rollout (n_envs 32 x n_steps 2,048 = 65,536) is longer than total_timesteps 20,000")
    assert told(VECTOR, n_envs=32, n_steps=2048, total_timesteps=65_536) == []


def test_a_number_of_games_that_follows_from_n_steps_is_told(caplog):
    settings_for({"env_id": "CartPole-v1", "n_steps": 2048})
    cores = usable_cores()
    assert f"n_envs is {cores}, because n_steps is 2,048: an update has {cores * 2048:,} steps" in caplog.text
    caplog.clear()
    settings_for({"env_id": "CartPole-v1", "n_steps": 2048, "n_envs": 8})
    settings_for({"env_id": "CartPole-v1"})
    settings_for({"game": "lantern"})
    assert caplog.text == ""
