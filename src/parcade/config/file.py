"""Settings in a YAML or JSON file, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from parcade.errors import SettingsError
from parcade.host.input_file import parse_json, read_input

LARGEST = 256 << 10
_MOST_VALUES = 10_000
_MOST_ALIASES = 64
_DEEPEST = 16
# What PyYAML raises for text that is no YAML, or for a value that is none of its tag.
_FAULTS = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def read_config(path: str | Path) -> dict[str, Any]:
    """Return the settings of a YAML or JSON file; keys are checked by ``make_settings``."""
    data = _read_data(Path(path), "config")
    data.pop("$schema", None)  # editors want it
    return data


def read_guide(path: str | Path) -> dict[str, Any]:
    """Return a guide of a YAML or JSON file as plain data; a title checks it (``parcade.game.guide``)."""
    return _read_data(Path(path), "guide")


def _read_data(path: Path, what: str) -> dict[str, Any]:
    try:
        text = read_input(path, LARGEST).decode("utf-8")
    except OSError as error:
        raise SettingsError(f"the {what} file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the {what} file {path} is not text") from None
    try:
        data = parse_json(text) if path.suffix == ".json" else parse_yaml(text)
    except _FAULTS as error:
        first_line = " ".join(str(error).split())[:300] or type(error).__name__
        raise SettingsError(f"the {what} file {path} is not valid: {first_line}") from None
    if data is None:
        raise SettingsError(f"the {what} file {path} is empty")
    if not isinstance(data, dict):
        raise SettingsError(f"the {what} file {path} must hold `key: value` lines, it holds a {type(data).__name__}")
    return data


def parse_yaml(text: str) -> Any:
    """Return plain data, each key once; raise one of many kinds of exceptions for what is no YAML or a bomb."""
    data = yaml.load(text, _UniqueKeys)
    if _count(data) > _MOST_VALUES:
        raise ValueError(f"its aliases expand to more than {_MOST_VALUES:,} values")
    return data


def _count(value: Any, depth: int = 0) -> int:
    """Return how many values are written out where aliases repeat them, or one more than allowed."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
    total = 1
    for part in parts:
        total += _count(part, depth + 1)
        if total > _MOST_VALUES:
            break
    return total


class _UniqueKeys(yaml.SafeLoader):
    """Plain data, each key once: of two the second would silently win. Aliases are few, and add up to little."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._n_aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Count the aliases: a few lines of them can stand for more than the memory holds."""
        if self.check_event(yaml.AliasEvent):
            self._n_aliases += 1
            if self._n_aliases > _MOST_ALIASES:
                raise yaml.YAMLError(f"it has more than {_MOST_ALIASES} aliases")
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: Any) -> None:
        """Merge what `<<` names, as long as it stays small."""
        super().flatten_mapping(node)
        if len(node.value) > _MOST_VALUES:
            raise yaml.YAMLError(f"its aliases expand to more than {_MOST_VALUES:,} values")

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Read a value; one that is none of its tag is named with its line."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            if not isinstance(node, yaml.ScalarNode):
                raise
            kind, line = node.tag.rpartition(":")[2], node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line} holds {node.value[:100]!r}, which is no {kind}") from None

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Check the keys, then read as always."""
        seen: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.tag == "tag:yaml.org,2002:merge" or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.YAMLError(f"{key.value[:100]} is given twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)
