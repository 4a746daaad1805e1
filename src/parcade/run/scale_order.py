"""scale.json and scaled.json: what somebody asks of a running training between two updates, and what came of it."""

from __future__ import annotations

import contextlib
import json
import secrets
from pathlib import Path
from typing import Any, Literal, NamedTuple

from parcade.host.input_file import parse_json, read_input
from parcade.run.atomic import write_atomic

ORDER, ANSWER = "scale.json", "scaled.json"
MOST_WORKERS = 65536
AUTO: Literal["auto"] = "auto"
_LARGEST = 4096


class ScaleOrder(NamedTuple):
    """Use this number of workers from the next rollout on; ``auto``: follow the machine."""

    number: str  # names the order in its answer
    n_workers: int | Literal["auto"]


class ScaleAnswer(NamedTuple):
    """What the training did with an order."""

    number: str
    done: bool
    words: str
    n_workers: int
    seconds: float


def new_order(n_workers: int | Literal["auto"]) -> ScaleOrder:
    """Return an order with a name of its own."""
    return ScaleOrder(secrets.token_hex(8), n_workers)


def ask(run: Path, order: ScaleOrder) -> None:
    """Leave an order for the training; one that was not taken yet is replaced."""
    write_atomic(run / ORDER, json.dumps(order._asdict()).encode())


def take_order(run: Path) -> ScaleOrder | None:
    """Return the order that waits and remove it; None if there is none, or nothing that anybody can obey."""
    path = run / ORDER
    if not path.exists():  # the usual case, between any two updates
        return None
    data = _read(path)
    with contextlib.suppress(OSError):
        path.unlink()
    number, n_workers = data.get("number"), data.get("n_workers")
    if not isinstance(number, str):
        return None
    if n_workers == AUTO:
        return ScaleOrder(number, AUTO)
    is_count = isinstance(n_workers, int) and not isinstance(n_workers, bool) and 0 <= n_workers <= MOST_WORKERS
    return ScaleOrder(number, n_workers) if isinstance(n_workers, int) and is_count else None


def withdraw(run: Path) -> None:
    """Take back an order that nobody has taken."""
    with contextlib.suppress(OSError):
        (run / ORDER).unlink(missing_ok=True)


def answer(run: Path, told: ScaleAnswer) -> None:
    """Say what was done with an order; in a folder that cannot be written, nothing."""
    with contextlib.suppress(OSError):
        write_atomic(run / ANSWER, json.dumps(told._asdict()).encode())


def read_answer(run: Path, order: ScaleOrder) -> ScaleAnswer | None:
    """Return the answer to this order; None if there is none yet."""
    data = _read(run / ANSWER)
    if data.get("number") != order.number:
        return None
    try:
        seconds = float(data["seconds"])
        return ScaleAnswer(order.number, bool(data["done"]), str(data["words"]), int(data["n_workers"]), seconds)
    except (LookupError, TypeError, ValueError):
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = parse_json(read_input(path, _LARGEST))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
