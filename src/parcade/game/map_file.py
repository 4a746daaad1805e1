"""Memory maps as YAML files: what `parcade inspect` writes and a game of the user's own loads.

fields:
coins: {address: 0xC112, kind: u16}
doors: {address: 0xC130, kind: u8, count: 16}
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any

import yaml

from parcade.errors import SettingsError, did_you_mean
from parcade.game.memory_map import Field, MemoryMap
from parcade.host.input_file import read_input

LARGEST = 1 << 20
_KEYS = tuple(field.name for field in dataclass_fields(Field))


def load_map(path: str | Path) -> MemoryMap:
    """Return the memory map in the file; raise SettingsError with all its faults in one sentence."""
    try:
        data = yaml.safe_load(read_input(path, LARGEST).decode())
    except OSError as error:
        raise SettingsError(f"the memory map {path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(f"the memory map {path} is no YAML file: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(data, dict) or set(data) != {"fields"} or not isinstance(data["fields"], dict):
        raise SettingsError(f"the memory map {path} must hold one key, 'fields', with a field under each name")
    fields, faults = {}, []
    for name, entry in data["fields"].items():
        try:
            fields[str(name)] = _field(entry)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise SettingsError(f"the memory map {path} has {len(faults)} faulty fields: {'; '.join(faults)}")
    return MemoryMap(fields)


def save_map(path: str | Path, memory_map: MemoryMap) -> None:
    """Write ``memory_map`` so that ``load_map`` returns the same fields in the same order."""
    lines = [f"  {_key(name)}: {{{_entry(field)}}}" for name, field in memory_map.fields.items()]
    Path(path).write_text("\n".join(["fields:" if lines else "fields: {}", *lines]) + "\n")


def _field(entry: Any) -> Field:
    if not isinstance(entry, dict) or "address" not in entry:
        raise ValueError(f"wanted {{address: …, kind: …}}, got {entry!r}")
    for key, value in entry.items():
        if key not in _KEYS:
            raise ValueError(f"{key!r} is not known{did_you_mean(str(key), _KEYS)}; use {', '.join(_KEYS)}")
        wanted = str if key == "kind" else int
        if type(value) is not wanted:
            raise ValueError(f"{key} is {value!r}, wanted {'a word' if wanted is str else 'a whole number'}")
    return Field(**entry)


def _entry(field: Field) -> str:
    parts = [f"address: 0x{field.address:04X}", f"kind: {field.kind}"]
    if field.count != 1:
        parts.append(f"count: {field.count}")
    if field.bit:
        parts.append(f"bit: {field.bit}")
    if field.via is not None:
        parts.append(f"via: 0x{field.via:04X}")
    return ", ".join(parts)


def _key(name: str) -> str:
    """Quote the names YAML would read as something else, such as ``on`` and ``no``."""
    try:
        plain = yaml.safe_load(name) == name
    except yaml.YAMLError:
        plain = False
    return name if plain else yaml.safe_dump(name, default_style='"', width=10_000).strip()
