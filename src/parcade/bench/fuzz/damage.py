"""How bytes, plain data and arrays are made wrong; everything is drawn from a generator that is handed over."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.run.archive import META, Arrays, packed_archive

Rng = np.random.Generator
LONG = "x" * 5_000
WRONG_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 0.5, -0.5, 1e-300, 1e300, -1e300, 1e9, 2**31, 2**63, -(2**63), 2**70, 10**400),
    *(
        float("nan"),
        float("inf"),
        float("-inf"),
        "",
        "x",
        "0",
        "-1",
        "nan",
        "1e999",
        "../../x",
        "/dev/zero",
        "a:b",
        LONG,
    ),
    *("9" * 400, "\u0000", "é\u202e", [], [0], [1, 2], [[]], ["x"], [None], {}, {"a": 1}, {"": None}, [{}]),
)


def damaged(rng: Rng, data: bytes) -> bytes:
    """Return the bytes with one to three things wrong."""
    for _ in range(int(rng.integers(1, 4))):
        data = _pick(rng, _DAMAGES)(rng, data)
    return data


def _flipped(rng: Rng, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _overwritten(rng: Rng, data: bytes) -> bytes:
    first, length = _span(rng, data)
    return data[:first] + rng.bytes(length) + data[first + length :]


def _filled(rng: Rng, data: bytes) -> bytes:
    first, length = _span(rng, data)
    return data[:first] + bytes([_pick(rng, (0x00, 0xFF, 0xDD, 0x40))]) * length + data[first + length :]


def _cut(rng: Rng, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _without_middle(rng: Rng, data: bytes) -> bytes:
    first, length = _span(rng, data)
    return data[:first] + data[first + length :]


def _longer(rng: Rng, data: bytes) -> bytes:
    return data + rng.bytes(int(rng.integers(1, 5_000)))


def _doubled(rng: Rng, data: bytes) -> bytes:
    first, length = _span(rng, data)
    return data[: first + length] + data[first:]


_DAMAGES: tuple[Callable[[Rng, bytes], bytes], ...] = (
    *(_flipped, _flipped, _flipped, _overwritten, _overwritten, _filled, _cut, _without_middle, _longer, _doubled),
)


def _span(rng: Rng, data: bytes) -> tuple[int, int]:
    first = int(rng.integers(len(data) + 1))
    return first, min(int(rng.integers(1, 2_000)), len(data) - first)


def changed_tree(rng: Rng, data: Any) -> tuple[Any, str]:
    """Return plain data with one value wrong, missing or too many, and which in words."""
    changed = copy.deepcopy(data)
    place, key, path = _place(rng, changed)
    if place is None:
        return _pick(rng, WRONG_VALUES), "everything"
    if rng.random() < 0.15:
        del place[key]
        return changed, f"no {path}"
    if isinstance(place, dict) and rng.random() < 0.1:
        place["evil"] = _pick(rng, WRONG_VALUES)
        return changed, f"evil beside {path}"
    place[key] = value = _pick(rng, WRONG_VALUES)
    return changed, f"{path}: {str(value)[:40]!r}"


def _place(rng: Rng, data: Any) -> tuple[Any, Any, str]:
    """Return a place of the tree: what holds it, its key and its path; deep ones are as likely as high ones."""
    places: list[tuple[Any, Any, str]] = []
    waiting: list[tuple[Any, str]] = [(data, "")]
    while waiting:
        part, path = waiting.pop()
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, value in items:
            places.append((part, key, f"{path}.{key}".lstrip(".")))
            waiting.append((value, places[-1][2]))
    return _pick(rng, places) if places else (None, None, "")


def changed_arrays(rng: Rng, groups: dict[str, Arrays]) -> str:
    """Make one array of an archive wrong, in place; return what in words."""
    group = _pick(rng, [name for name, arrays in groups.items() if arrays] or list(groups))
    arrays = groups[group]
    if not arrays or rng.random() < 0.1:
        arrays[_pick(rng, ("evil", "", "a/b"))] = np.zeros(int(rng.integers(0, 4)), np.float32)
        return f"one more array in {group}"
    name = _pick(rng, list(arrays))
    if rng.random() < 0.15:
        del arrays[name]
        return f"no {group}/{name}"
    if rng.random() < 0.1:
        arrays[f"{name}x"] = arrays.pop(name)
        return f"{group}/{name} under another name"
    word = _pick(rng, list(_ARRAYS))
    arrays[name] = _ARRAYS[word](rng, np.asarray(arrays[name]))
    return f"{group}/{name} {word}"


Array = npt.NDArray[Any]


def _with(rng: Rng, array: Array, value: float) -> Array:
    changed = array.astype(np.float64) if array.dtype.kind != "f" else array.copy()
    if changed.size:
        changed.reshape(-1)[int(rng.integers(changed.size))] = value
    return changed


def _largest(array: Array, sign: int) -> Array:
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return np.full_like(array, limits.max if sign > 0 else limits.min)
    return np.full_like(array, 1e30 * sign) if array.dtype.kind == "f" else ~array


_ARRAYS: dict[str, Callable[[Rng, Array], Array]] = {
    "with NaN": lambda rng, array: _with(rng, array, np.nan),
    "with infinity": lambda rng, array: _with(rng, array, np.inf),
    "as other numbers": lambda rng, array: array.astype(
        _pick(rng, (np.int8, np.float16, np.float64, np.int64, np.bool_))
    ),
    "with one axis more": lambda rng, array: array[None],
    "cut": lambda rng, array: array.reshape(-1)[: int(rng.integers(array.size + 1))],
    "empty": lambda rng, array: array.reshape(-1)[:0],
    "twice": lambda rng, array: np.concatenate([array.reshape(-1)] * 2),
    "largest": lambda rng, array: _largest(array, 1),
    "least": lambda rng, array: _largest(array, -1),
}


def changed_archive(rng: Rng, data: bytes) -> tuple[bytes, str]:
    """Return an archive with something wrong in it and checksums that fit, and what in words."""
    from safetensors.numpy import load

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(entries.pop(META))
    groups = {name.removesuffix(".safetensors"): load(raw) for name, raw in entries.items()}
    if rng.random() < 0.4 and any(groups.values()):
        what = changed_arrays(rng, groups)
        return packed_archive(head["kind"], head["meta"], groups), what
    meta, what = changed_tree(rng, head["meta"])
    if isinstance(meta, dict) and rng.random() < 0.9:
        return packed_archive(head["kind"], meta, groups), what
    return _with_head(rng, {**head, "meta": meta}, entries)


def _with_head(rng: Rng, head: dict[str, Any], entries: dict[str, bytes]) -> tuple[bytes, str]:
    """Return an archive whose head itself is wrong; the sum of its meta fits."""
    body = json.dumps(head["meta"], sort_keys=True)
    head["sha256"] = {**head["sha256"], "meta": hashlib.sha256(body.encode()).hexdigest()}
    changed, what = changed_tree(rng, head)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(META, json.dumps(changed))
        for name, raw in entries.items():
            archive.writestr(name, raw)
    return buffer.getvalue(), f"its head: {what}"


def _pick(rng: Rng, choices: Any) -> Any:
    """Return one of a sequence as it is; ``rng.choice`` would make an array of it."""
    return choices[int(rng.integers(len(choices)))]
