"""Messages between two processes over a pipe: a record as JSON, and named arrays. Reading one never runs code."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_SIZES = struct.Struct("<II")
_PREFIX = "array "  # np.savez has parameters of its own, whose names an array may have


def send_message(pipe: IO[bytes], record: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> None:
    """Write one message; BrokenPipeError where nobody reads any more."""
    head, body = json.dumps(record).encode(), io.BytesIO()
    if arrays:
        np.savez(body, **{_PREFIX + name: array for name, array in arrays.items()})  # type: ignore[arg-type]
    pipe.write(_SIZES.pack(len(head), body.tell()) + head + body.getvalue())
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> tuple[dict[str, Any], dict[str, Array]] | None:
    """Wait for one message and return it; None where the other side has ended."""
    sizes = pipe.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    n_head, n_body = _SIZES.unpack(sizes)
    head, body = pipe.read(n_head), pipe.read(n_body)
    if len(head) < n_head or len(body) < n_body:
        return None
    if not body:
        return json.loads(head), {}
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return json.loads(head), {name.removeprefix(_PREFIX): arrays[name] for name in arrays.files}
