"""live.json: where a running training keeps its shared files, for viewers; it is there as long as the training runs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from parcade.host.input_file import parse_json, read_input
from parcade.run.atomic import write_atomic

NAME = "live.json"
VERSION = 1
LARGEST = 1 << 20


def write_live(run: Path, data: dict[str, Any]) -> None:
    """Say where everything is; a run folder that cannot be written has no viewers."""
    with contextlib.suppress(OSError):
        write_atomic(run / NAME, json.dumps({"version": VERSION, **data}).encode())


def remove_live(run: Path) -> None:
    """Say that the training is over."""
    with contextlib.suppress(OSError):
        (run / NAME).unlink(missing_ok=True)


def read_live(run: Path) -> dict[str, Any] | None:
    """Return what ``write_live`` wrote; None where nothing runs. Whether it still runs is not known by this.

    Raise ValueError for a file of another version, or none of ours.
    """
    try:
        data = parse_json(read_input(run / NAME, LARGEST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{run / NAME} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{run / NAME} is damaged: {error}") from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        told = data.get("version") if isinstance(data, dict) else None
        raise ValueError(f"{run / NAME} is of another version of Parcade ({told!r}, wanted {VERSION})")
    return data
