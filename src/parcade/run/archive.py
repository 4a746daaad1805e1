"""Zips of safetensors and JSON: the file format of models, checkpoints and episodes. Reading one never runs code."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from parcade.errors import ModelFileError
from parcade.host.input_file import checked_size, parse_json, short
from parcade.run.atomic import write_atomic

FORMAT = 1
META = "meta.json"
LARGEST = 16 << 30
Arrays = dict[str, npt.NDArray[Any]]
_ENTRY = re.compile(r"[a-z_]+\.safetensors")


def write_archive(path: Path, kind: str, meta: dict[str, Any], groups: dict[str, Arrays]) -> None:
    """Write ``meta`` and named groups of arrays, whole or not at all."""
    write_atomic(path, packed_archive(kind, meta, groups))


def packed_archive(kind: str, meta: dict[str, Any], groups: dict[str, Arrays]) -> bytes:
    """Return the bytes of an archive; every entry's SHA-256 stands in the meta entry."""
    entries = {f"{name}.safetensors": save(_contiguous(arrays)) for name, arrays in groups.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in entries.items()}
    body = json.dumps(meta, sort_keys=True)
    head = {
        "format": FORMAT,
        "kind": kind,
        "sha256": {**sums, "meta": hashlib.sha256(body.encode()).hexdigest()},
        "meta": meta,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(META), json.dumps(head, indent=1, sort_keys=True))
        for name, data in entries.items():
            archive.writestr(_entry(name), data)
    return buffer.getvalue()


def read_archive(path: str | Path, kind: str, largest: int = LARGEST) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Return meta and groups; anything that is not exactly what ``write_archive`` writes is refused by name."""
    path = Path(path)
    try:
        size = checked_size(path, largest)
        with path.open("rb") as file:
            return unpacked_archive(file, size, kind, str(path))
    except FileNotFoundError:
        raise ModelFileError(f"there is no {kind} at {path}") from None
    except IsADirectoryError:
        best = path / "models" / "best_model.zip"
        hint = f"; give {best}" if kind == "model" and best.is_file() else ""
        raise ModelFileError(f"{path} is a folder, not a {kind} file{hint}") from None
    except ValueError:  # a NUL in the path
        raise ModelFileError(f"{path} is not a Parcade {kind} file, or it is damaged") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from None


def unpacked_archive(file: BinaryIO, size: int, kind: str, path: str) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Return meta and groups of an archive of ``size`` bytes; ``path`` is what messages call it."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check_entries(path, archive, size)
            data = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        head = parse_json(data.pop(META))
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError):
        raise ModelFileError(f"{path} is not a Parcade {kind} file, or it is damaged") from None
    _check_head(path, kind, head, data)
    try:
        groups = {name.removesuffix(".safetensors"): load(raw) for name, raw in data.items()}
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError):
        raise ModelFileError(f"{path} holds an array that cannot be read") from None
    return head["meta"], groups


def _check_entries(path: str, archive: zipfile.ZipFile, size: int) -> None:
    """Refuse what could hurt: other names (path traversal), compression and shared bytes (bombs), doubles, giants."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    stored = all(e.compress_type == zipfile.ZIP_STORED and e.file_size == e.compress_size for e in entries)
    if "_stable_baselines3_version" in names:
        raise ModelFileError(f"{path} is a model of Stable-Baselines3; Parcade plays those that `parcade train` writes")
    known = all(name == META or _ENTRY.fullmatch(name) for name in names)
    fits = sum(entry.file_size for entry in entries) <= size  # entries that share bytes add up to more than the file
    if not stored or not known or not fits or len(set(names)) != len(names):
        raise ModelFileError(f"{path} holds entries that no Parcade file has, so it is not opened")


def _check_head(path: str, kind: str, head: Any, data: dict[str, bytes]) -> None:
    if not isinstance(head, dict) or not isinstance(head.get("meta"), dict) or not isinstance(head.get("sha256"), dict):
        raise ModelFileError(f"{path} is not a Parcade {kind} file, or it is damaged")
    if head.get("kind") != kind:
        raise ModelFileError(f"{path} is a {_word(head.get('kind'))} file, wanted a {kind}")
    if head.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {_word(head.get('format'))}, this Parcade reads {FORMAT}")
    body = json.dumps(head["meta"], sort_keys=True)
    sums = {name: hashlib.sha256(raw).hexdigest() for name, raw in data.items()}
    if {**sums, "meta": hashlib.sha256(body.encode()).hexdigest()} != head["sha256"]:
        raise ModelFileError(f"{path} is damaged: a checksum does not match")


def _word(value: Any) -> str:
    """Return a value of a head for a message; what is long is cut."""
    return value if isinstance(value, str) and len(value) <= 40 else short(value)


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # the same content gives the same bytes


def _contiguous(arrays: Arrays) -> Arrays:
    """Lay arrays out row by row; ``np.ascontiguousarray`` would turn a single number into a list of one."""
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}
