"""``auto``: what was measured on this machine with these settings, or the default; either is told."""

import json
import logging

import pytest

from parcade.config.settings import make_settings
from parcade.errors import SettingsError
from parcade.train.given import settings_for
from parcade.train.measured import Measured, cache_file, keep, key_of, look_up

AUTO = {"n_envs": "auto", "n_workers": "auto", "num_threads": "auto"}
FOUND = Measured(48, 3, 2, 5000.0, 1.2, "lantern", "a machine", "2026-11-18")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_auto_is_the_default_where_nothing_was_measured(caplog):
    with caplog.at_level(logging.WARNING, "parcade"):
        settings = settings_for(AUTO)
    assert settings == settings_for({})
    assert "n_envs, n_workers, num_threads auto: the default, because nothing was measured here" in caplog.text


def test_auto_is_what_was_measured_and_stands_in_the_settings(caplog):
    keep({}, FOUND)
    with caplog.at_level(logging.WARNING, "parcade"):
        settings = settings_for({**AUTO, "seed": 5, "learning_rate": 1e-4, "total_timesteps": 100_000})
    assert (settings.n_envs, settings.n_workers, settings.num_threads) == (48, 3, 2)
    assert "n_envs 48, n_workers 3, num_threads 2, as measured on this machine on 2026-11-18" in caplog.text


def test_only_what_is_auto_is_taken():
    keep({}, FOUND)
    settings = settings_for({"n_workers": "auto", "n_envs": 8})
    assert (settings.n_envs, settings.n_workers, settings.num_threads) == (8, 3, None)


def test_what_was_measured_with_a_fixed_number_holds_for_that_number_only():
    keep({"n_envs": 8}, Measured(8, 1, 1, 900.0, 1.1, "lantern", "a machine", "2026-11-18"))
    assert look_up({}) is None
    assert look_up({"n_envs": 9}) is None
    assert settings_for({"n_envs": 8, "n_workers": "auto"}).n_workers == 1


def test_settings_that_change_a_steps_cost_are_measured_apart():
    same = [{}, {"game": "lantern"}, {"seed": 3}, {"timesteps": 5000}, {"gamma": 0.5}]
    assert len({key_of(given) for given in same}) == 1
    others = [
        {"observation": "pixels"},
        {"hidden": (8,)},
        {"n_steps": 32},
        {"overlap": True},
        {"env_id": "CartPole-v1"},
    ]
    assert len({key_of(given) for given in (*others, {})}) == len(others) + 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1, "entries": []}', '{"version": 2, "entries": {}}'])
def test_a_damaged_cache_counts_as_none_and_is_written_anew(content):
    cache_file().parent.mkdir(parents=True)
    cache_file().write_text(content)
    assert look_up({}) is None
    keep({}, FOUND)
    assert look_up({}) == FOUND


@pytest.mark.parametrize("entry", [{"n_envs": -1}, {"n_workers": "3"}, {"extra": 1}, {"num_threads": 1 << 40}])
def test_an_entry_that_nobody_can_obey_is_ignored(entry):
    keep({}, FOUND)
    data = json.loads(cache_file().read_text())
    data["entries"] = {key: {**value, **entry} for key, value in data["entries"].items()}
    cache_file().write_text(json.dumps(data))
    assert look_up({}) is None


def test_other_settings_take_no_auto():
    assert make_settings({"n_workers": "auto"}).n_workers is None
    with pytest.raises(SettingsError, match="n_steps is 'auto'"):
        make_settings({"n_steps": "auto"})
