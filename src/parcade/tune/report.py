"""A search's result as plain data, in the cache, and as a config file."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from parcade.config.fitting import AUTO, MAY_BE_AUTO
from parcade.errors import SettingsError
from parcade.run.atomic import write_atomic
from parcade.train.measured import Measured, keep, machine_name, today
from parcade.tune.search import Found
from parcade.tune.words import bound_of, how_many, learning, noise, passed_over, speed_up, why

log = logging.getLogger("parcade.tune")


def as_data(found: Found) -> dict[str, Any]:
    """Return the one line of JSON."""
    return {
        **found.choice.candidate._asdict(),
        "steps_per_s": found.choice.steps_per_s,
        "over_default": found.over_default,
        "why": why(found),
        "bound": bound_of(found),
        "default": found.default.candidate._asdict(),
        "is_default": found.choice.candidate == found.default.candidate,
        "noise": noise(found),
        "got_of_cores": found.got,
        "limits": found.limits,
        "measured_n_steps": found.shortened_to,
        "answers": [how_many(found), *passed_over(found), *speed_up(found), learning(found)],
        "table": [row.to_dict() for row in found.rows],
        "machine": machine_name(),
    }


def keep_choice(given: dict[str, Any], game: str, found: Found) -> Path | None:
    """Keep the choice for ``auto``; None where the cache cannot be written, which is told."""
    counts = found.choice.candidate._asdict()
    kept = Measured(
        **counts,
        steps_per_s=found.choice.steps_per_s,
        over_default=found.over_default,
        game=game,
        machine=machine_name(),
        date=today(),
    )
    try:
        return keep({name: value for name, value in given.items() if value != AUTO}, kept)
    except OSError as error:
        log.warning("the choice cannot be kept for auto: %s", error)
        return None


def check_config(path: str) -> None:
    """Refuse a config file that is there already, or that cannot be, before anything is measured."""
    if Path(path).suffix not in (".yaml", ".yml", ".json"):
        raise SettingsError(f"--write is {path!r}, wanted a file that ends in .yaml or .json")
    if Path(path).exists():
        raise SettingsError(f"--write is {path!r}, which is there already; name another file, or remove it")
    if not Path(path).absolute().parent.is_dir():
        raise SettingsError(f"--write is {path!r}, but there is no folder {Path(path).parent}")


def write_config(path: str, given: dict[str, Any], found: Found) -> None:
    """Write what was given and what was chosen; `parcade train --config` takes it."""
    settings = {name: value for name, value in given.items() if name not in MAY_BE_AUTO}
    data = {**settings, **found.choice.candidate._asdict()}
    head = f"# parcade tune, {machine_name()}, {today()}: {found.choice.steps_per_s:,.0f} steps/s"
    lines = [head, *(f"{name}: {json.dumps(value)}" for name, value in data.items())]  # JSON is YAML too
    text = json.dumps(data, indent=2) if path.endswith(".json") else "\n".join(lines)
    try:
        write_atomic(Path(path), f"{text}\n".encode())
    except OSError as error:
        raise SettingsError(f"the config file {path} cannot be written: {error.strerror}") from None
