"""Why Ray does not let a program in, in one sentence."""

import pytest

from parcade.cluster.connection import _told

REFUSED = ConnectionError("Failed to connect to Ray cluster at 10.0.0.1:6379")


@pytest.fixture
def token(tmp_path, monkeypatch):
    file = tmp_path / "auth_token"
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    return file


def test_a_token_that_is_not_shown_is_named(token):
    token.write_text("0" * 64)
    assert "set RAY_AUTH_MODE=token here" in _told("10.0.0.1:6379", REFUSED)


def test_without_a_token_none_is_named(token):
    assert "RAY_AUTH_MODE" not in _told("10.0.0.1:6379", REFUSED)


def test_a_mode_that_was_chosen_is_left_alone(token, monkeypatch):
    token.write_text("0" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert "RAY_AUTH_MODE" not in _told("10.0.0.1:6379", REFUSED)
