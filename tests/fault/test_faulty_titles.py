"""A title whose words or places raise: named once, left out, and the games play on."""

import json
import logging
import math

import numpy as np
import pytest

from parcade import make_env, make_pool, train
from parcade.env import title_guard
from parcade.errors import ParcadeError
from parcade.game.lantern.title import Lantern
from parcade.view.page.maps import Atlas

SETTINGS = {
    **{"n_envs": 4, "n_steps": 32, "batch_size": 32, "save_freq": 0, "total_timesteps": 256},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "n_workers": 2},
}


@pytest.fixture(autouse=True)
def _nothing_told_before(monkeypatch):
    monkeypatch.setattr(title_guard, "_told", set())


def looked_at(pool, steps):
    """Take steps while a viewer asks for everything of every slot."""
    for _ in range(steps):
        pool.showcase.ask(range(pool.n_envs), range(pool.n_envs))
        pool.send(np.full(pool.n_envs, 4))
        pool.recv()
    return [json.loads(pool.showcase.detail(slot, 0)[1]) for slot in range(pool.n_envs)]


def told(caplog):
    return [record.getMessage() for record in caplog.records if "the title" in record.getMessage()]


@pytest.mark.parametrize("n_workers", [0, 2])
def test_words_and_places_that_raise_are_named_once_and_left_out(n_workers, caplog):
    with make_pool("faulty_titles:Speechless", 4, n_workers=n_workers) as pool:
        pool.reset()
        details = looked_at(pool, 24)
        assert pool.restarts == []
    for detail in details:
        assert detail["words"] is detail["place"] is detail["screen"] is None
        assert detail["fields"]["hearts"] == 6
        assert "soul" not in detail["fields"]
        assert detail["metrics"]["success"] == 0
    words = sorted(told(caplog))
    assert len(words) == 4
    assert words[0].startswith("the title 'faulty_titles:Speechless': describe raised KeyError: 'no words'; it is left")
    assert "field soul raised AttributeError" in words[1]
    assert "place raised ZeroDivisionError: no place" in words[2]
    assert "screen_place raised RuntimeError: no screen" in words[3]


def test_what_is_no_place_and_no_text_is_left_out_too(caplog):
    with make_pool("faulty_titles:Mumbling", 2, n_workers=1) as pool:
        pool.reset()
        details = looked_at(pool, 12)
        assert pool.restarts == []
    assert details[0]["words"] is details[0]["place"] is None
    assert "describe raised TypeError: returned 3, wanted text" in caplog.text
    assert "place raised TypeError: returned (None, 'a', 'b'), wanted a map's name" in caplog.text


def test_a_function_that_kills_kills_once(caplog):
    with make_pool("faulty_titles:Deadly", 2, n_workers=1) as pool:
        pool.reset()
        details = looked_at(pool, 24)
        assert len(pool.restarts) == 1
    assert details[0]["words"] is None
    assert details[0]["step"] == 24
    assert "describe ended its worker; it is left out from now on" in caplog.text


def test_metrics_that_raise_end_no_training(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "parcade"):
        result = train(game="faulty_titles:Uncounted", log_root=str(tmp_path), **SETTINGS)
    assert result.env_steps == 256
    assert result.worker_restarts == 0
    assert [text for text in told(caplog) if "metrics raised ValueError: nobody counts" in text] == told(caplog)
    assert len(told(caplog)) == 1


def test_an_env_of_such_a_title_steps(caplog):
    env = make_env("faulty_titles:Uncounted")
    env.reset(seed=1)
    info = env.step(0)[4]
    assert math.isnan(info["metrics"]["coins"])
    assert env.unwrapped.words()
    env.close()
    assert len(told(caplog)) == 1


def test_a_cell_that_an_archive_needs_is_a_fault_of_the_env(tmp_path, caplog):
    with pytest.raises(ParcadeError, match="raised ValueError: no cell"):
        train(game="faulty_titles:Celled", archive_share=0.5, worker_restarts=0, log_root=str(tmp_path), **SETTINGS)


def test_a_map_that_raises_is_no_map(monkeypatch, caplog):
    def raises(self, console, seed, name):
        raise IndexError("no map")

    monkeypatch.setattr(Lantern, "map_picture", raises)
    atlas = Atlas()
    assert atlas.png("lantern", 1, "floor 1") is None
    assert atlas.png("lantern", 2, "floor 1") is None
    assert told(caplog) == ["the title 'lantern': map_picture raised IndexError: no map; it is left out from now on"]
