"""What `parcade tune` measured on this machine, by game and settings: where ``auto`` looks.

The choice is written into the run's config.json like any other setting, so a run repeats without this file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from parcade.config.fitting import AUTO, MAY_BE_AUTO
from parcade.config.settings import ALIASES, TrainSettings, make_settings
from parcade.host.cores import usable_cores
from parcade.host.input_file import parse_json, read_input
from parcade.host.memory import total_mb
from parcade.run.atomic import write_atomic
from parcade.run.directory import processor_name

log = logging.getLogger("parcade.train")
VERSION = 1
_LARGEST, _MOST = 1 << 20, 500
_GROUPS = ("what", "observation", "explore")  # whose settings say what a step costs
_MORE = (
    *("overlap", "n_groups", "algorithm", "n_epochs", "cnn", "hidden", "activation", "lstm", "normalize_obs"),
    *("normalize_return", "box_policy", "device", "precision"),
)
_FITTED = ("n_steps", "batch_size")  # they follow n_envs unless they are given


@dataclass(frozen=True, slots=True)
class Measured:
    """The best that was found, for one machine, game and settings."""

    n_envs: int
    n_workers: int
    num_threads: int
    steps_per_s: float
    over_default: float
    game: str
    machine: str
    date: str


def measured(given: dict[str, Any]) -> dict[str, Any]:
    """Return settings with what was measured for every ``auto``; without it where nothing was. Both are told."""
    wanted = [name for name in MAY_BE_AUTO if given.get(name) == AUTO]
    if not wanted:
        return given
    rest = {name: value for name, value in given.items() if name not in wanted}
    found = look_up(rest)
    if found is None:
        log.warning(
            "%s auto: the default, because nothing was measured here with these settings; `parcade tune` with the same "
            "flags measures",
            ", ".join(wanted),
        )
        return rest
    chosen = {name: getattr(found, name) for name in wanted}
    told = ", ".join(f"{name} {value}" for name, value in chosen.items())
    log.warning("%s, as measured on this machine on %s", told, found.date)
    return {**rest, **chosen}


def look_up(given: dict[str, Any]) -> Measured | None:
    """Return what was measured with these settings: with the same fixed numbers, or else with none fixed."""
    entries = _entries()
    for key in (key_of(given), key_of({name: value for name, value in given.items() if name not in MAY_BE_AUTO})):
        with suppress(KeyError, TypeError, ValueError):
            return _checked(entries[key])
    return None


def keep(given: dict[str, Any], found: Measured) -> Path:
    """Write down what was measured with these settings; return the file."""
    path, entries = cache_file(), _entries()
    entries.pop(key := key_of(given), None)
    entries[key] = asdict(found)
    newest = dict(list(entries.items())[-_MOST:])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps({"version": VERSION, "entries": newest}, indent=1).encode())
    return path


def key_of(given: dict[str, Any]) -> str:
    """Return what names this machine, this game and these settings together."""
    given = {ALIASES.get(name, name): value for name, value in given.items()}
    settings = make_settings(given).model_dump(mode="json")
    groups = {name: field.json_schema_extra for name, field in TrainSettings.model_fields.items()}
    names = [name for name, extra in groups.items() if isinstance(extra, dict) and extra["group"] in _GROUPS]
    relevant = {name: settings[name] for name in (*names, *_MORE) if name != "model"}
    fixed = {name: settings[name] for name in (*MAY_BE_AUTO, *_FITTED) if given.get(name) not in (None, AUTO)}
    text = json.dumps([machine_name(), relevant, fixed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def machine_name() -> str:
    """Return what tells this machine from another: its processor, the cores that may be used, its memory."""
    return f"{processor_name()}, {usable_cores()} cores, {total_mb() / 1e3:.0f} GB"


def cache_file() -> Path:
    """Return the file in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME")
    folder = Path(root) if root and Path(root).is_absolute() else Path.home() / ".cache"
    return folder / "parcade" / "tune.json"


def today() -> str:
    """Return the date that stands beside a measurement."""
    return date.today().isoformat()


def _entries() -> dict[str, Any]:
    try:
        data = parse_json(read_input(cache_file(), _LARGEST))
        entries = data["entries"] if data["version"] == VERSION else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return dict(entries) if isinstance(entries, dict) else {}


def _checked(entry: dict[str, Any]) -> Measured:
    """Return an entry, if somebody can obey it."""
    found = Measured(**entry)
    counts = found.n_envs, found.n_workers, found.num_threads
    if not all(type(count) is int and 1 <= count <= 65536 for count in counts):
        raise ValueError
    return found
