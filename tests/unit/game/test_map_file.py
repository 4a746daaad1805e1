"""Memory map files: written, read back, and refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from parcade.errors import SettingsError
from parcade.game.map_file import load_map, save_map
from parcade.game.memory_map import Field, MemoryMap

FIELDS = st.builds(
    Field,
    address=st.integers(0, 0x0FFFFFFF),
    kind=st.sampled_from(["u8", "i8", "u16", "u16be", "u24be", "u32", "bcd", "bit", "bytes"]),
    count=st.integers(1, 40),
    bit=st.integers(0, 7),
    via=st.none() | st.integers(0, 0x0FFFFFFF),
)


def test_a_map_reads_as_it_was_written(tmp_path: Path) -> None:
    fields = {"coins": Field(0xC112, "u16"), "on": Field(0xC10D), "doors": Field(0xC130, "u8", 16), "y": Field(1)}
    save_map(tmp_path / "map.yaml", MemoryMap(fields))
    assert "coins: {address: 0xC112, kind: u16}" in (tmp_path / "map.yaml").read_text()
    assert load_map(tmp_path / "map.yaml").fields == fields
    assert list(yaml.safe_load((tmp_path / "map.yaml").read_text())["fields"]) == list(fields)


@given(fields=st.dictionaries(st.text(max_size=20), FIELDS, max_size=5))
@settings(max_examples=50)
def test_any_map_survives_the_file(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Field]) -> None:
    path = tmp_path_factory.mktemp("maps") / "map.yaml"
    save_map(path, MemoryMap(fields))
    back = load_map(path).fields
    assert back == fields
    assert list(back) == list(fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fields: {x: {address: 0xC0A0, kind: u9}}", "x: field kind 'u9' is unknown"),
        ("fields: {x: {adress: 1}}", r"x: wanted \{address"),
        ("fields: {x: {address: 1, knd: u8}}", "did you mean 'kind'"),
        ("fields: {x: {address: C0A0}}", "address is 'C0A0', wanted a whole number"),
        ("fields: {x: {address: 1, count: 0}}", "count 0"),
        ("fields: {x: 3, y: {address: no}}", "2 faulty fields: x: .*; y: "),
        ("x: 1", "must hold one key, 'fields'"),
        ("", "must hold one key, 'fields'"),
        ("fields: {x: [", "is no YAML file"),
    ],
)
def test_a_faulty_file_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(SettingsError, match=said) as refused:
        load_map(tmp_path / "map.yaml")
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing\.yaml cannot be read: No such file"):
        load_map(tmp_path / "nothing.yaml")
