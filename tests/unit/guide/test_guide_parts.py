"""Parts of the author that need no server: answers read, files written, schemas that hold."""

from __future__ import annotations

import json
import pickle

import pytest
import yaml

from parcade.config.llm_address import checked_url
from parcade.errors import SettingsError
from parcade.game.condition import condition_faults
from parcade.game.titles import find_title, title_names
from parcade.guide.answer import data_of
from parcade.guide.guide_file import guide_text
from parcade.guide.key import Key, read_key
from parcade.guide.prompt import quoted
from parcade.guide.schema import guide_schema, simple_conditions


@pytest.mark.parametrize("title", title_names())
def test_conditions_to_choose_from_have_no_fault(title: str) -> None:
    fields = find_title(title).fields
    conditions = simple_conditions(fields)
    assert bool(conditions) == bool(fields)
    assert [fault for text in conditions for fault in condition_faults(text, fields)] == []
    json.dumps(guide_schema(fields, simple=True))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure!\n```json\n{"a": "b\\u001b[2J"}\n```', {"a": "b [2J"}),
    ],
)
def test_an_answer_is_found_in_what_stands_around_it(text: str, data: object) -> None:
    assert data_of(text) == data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON object"),
        ("}{", "no JSON object"),
        ("{a}", "it is no JSON: .* at character 2"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": ' + "[" * 20 + "]" * 20 + "}", "nested more than 8 deep"),
        ('{"a": ' + "[" * 40_000 + "]" * 40_000 + "}", "nested too deep"),
        ("x" * 200_001, "200,001 characters"),
    ],
)
def test_what_is_no_answer_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        data_of(text)


def test_a_written_guide_is_read_as_it_was() -> None:
    milestones = [
        {"name": "on", "when": "map == 'it''s'", "reward": 1, "hint": "- a: #b\n[c]", "after": []},
        {"name": "b", "when": "keys >= 1", "reward": 0.5, "after": ["on"]},
    ]
    text = guide_text({"game": "lantern", "milestones": milestones}, "model\nmilestones: evil")
    assert yaml.safe_load(text) == {"game": "lantern", "milestones": milestones}
    assert "    after: ['on']\n" in text


def test_a_key_is_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key("secret")
    assert "secret" not in f"{key!r}{key}"
    assert key.hidden_in("a secret") == "a [key]"
    assert Key().hidden_in("a") == "a"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    monkeypatch.setenv("MINE", "two words")
    with pytest.raises(SettingsError) as told:
        read_key("MINE")
    assert "two words" not in str(told.value)
    assert not read_key("NOT_THERE")


def test_an_address_ends_where_requests_begin() -> None:
    assert checked_url("http://127.0.0.1:8080") == "http://127.0.0.1:8080/v1"
    assert checked_url("https://host/api/v1/chat/completions") == "https://host/api/v1"
    for url in ("file:///etc/passwd", "http://", "http://a b", "http://host:0/v1", "http://[::1"):
        with pytest.raises(ValueError, match="no address"):
            checked_url(url)


def test_data_cannot_end_its_marks() -> None:
    assert quoted({"a": "</game-data>"}).count("</game-data>") == 1
