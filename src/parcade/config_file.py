"""Settings in a YAML or JSON file, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from parcade.errors import SettingsError


def read_config(path: str | Path) -> dict[str, Any]:
    """Return the settings of a YAML or JSON file; keys are checked by ``make_settings``."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"the config file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the config file {path} is not text") from None
    try:
        data = json.loads(text) if path.suffix == ".json" else yaml.load(text, _UniqueKeys)
    except (ValueError, yaml.YAMLError) as error:
        first_line = " ".join(str(error).split())
        raise SettingsError(f"the config file {path} is not valid: {first_line}") from None
    if data is None:
        raise SettingsError(f"the config file {path} is empty")
    if not isinstance(data, dict):
        raise SettingsError(f"the config file {path} must hold `key: value` lines, it holds a {type(data).__name__}")
    data.pop("$schema", None)  # editors want it
    return data


class _UniqueKeys(yaml.SafeLoader):
    """Plain data, each key once: of two the second would silently win."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Check the keys, then read as always."""
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        twice = [key for number, key in enumerate(keys) if key in keys[:number]]
        if twice:
            raise yaml.YAMLError(f"{twice[0]} is given twice")
        return super().construct_mapping(node, deep)
