"""Kept episodes: what is told of them, and how many films may wait."""

from types import SimpleNamespace

import pytest

from parcade.errors import UserError
from parcade.view.page import replaying
from parcade.view.page.replaying import MOST_FILMS, film, kept_facts


def test_films_that_wait_are_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(replaying, "kept_episode", lambda run, number: (SimpleNamespace(length=1), "here"))
    for _ in range(MOST_FILMS):
        assert replaying._films.acquire(blocking=False)
    try:
        with pytest.raises(UserError, match="4 films are being made already; try again when one is done"):
            film(tmp_path, 1, tmp_path / "a.mp4")
    finally:
        for _ in range(MOST_FILMS):
            replaying._films.release()


def test_no_episodes_are_no_fault_and_a_damaged_index_is_named_without_its_folder(tmp_path):
    assert kept_facts(tmp_path) == {"episodes": [], "kinds": {}, "reached": {}}
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "index.json").write_text("{")
    assert kept_facts(tmp_path)["words"].startswith("episodes/index.json cannot be read")
