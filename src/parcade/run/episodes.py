"""Episodes in files: an episode is a function of its env, its seed and its actions, so these are what is kept.

Kept episodes of a run and demonstrations have the same format: safetensors and JSON. Reading one never runs code.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from parcade.errors import EpisodeFileError, ModelFileError
from parcade.host.input_file import short
from parcade.run.archive import Arrays, packed_archive, read_archive, unpacked_archive
from parcade.run.atomic import write_atomic

KIND = "recording"
MOST_BYTES, MOST_EPISODES = 1 << 30, 100_000  # of a file that is read
_OLD_KIND = "demonstrations"
_LARGEST = 1e300  # number of a reward or a metric


@dataclass(frozen=True, slots=True)
class EpisodeOrigin:
    """What the episodes of a file were played in, and by whom."""

    env: Mapping[str, Any]  # ``EnvSpec.to_dict``
    parcade: str  # the version that played them
    player: str = "training"  # training, model, bot or person
    rom_sha1: str | None = None
    state_sha1: str | None = None
    holds_all_states: bool = False  # of a folder of save states: the episode's seed chooses one, not its slot

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeRecord:
    """One episode. ``actions`` are those of its ``length`` steps, by leaf name, as the env took them.

    ``prefix`` are actions taken between the reset and the first step that counts; most episodes have none. The last
    four fields say where in a training it was played.
    """

    origin: EpisodeOrigin
    seed: int
    actions: Arrays
    length: int
    total_reward: float
    terminated: bool
    truncated: bool
    metrics: Mapping[str, float] = field(default_factory=dict)
    prefix: Arrays = field(default_factory=dict)
    number: int | None = None  # of all episodes of the training, in the order they ended, from 1 on
    slot: int | None = None
    slot_episode: int | None = None  # of the slot's episodes, from 0 on
    env_steps: int | None = None  # of the training when it ended

    def facts(self) -> dict[str, Any]:
        """Return all but origin and actions, JSON-ready."""
        names = [part.name for part in fields(self) if part.name not in ("origin", "actions", "prefix")]
        values = {name: getattr(self, name) for name in names}
        values |= {"total_reward": float(self.total_reward), "metrics": dict(self.metrics)}
        return {**values, "prefix": prefix_length(self)}


def present_version() -> str:
    """Return the version of Parcade that plays here."""
    try:
        return metadata.version("parcade")
    except metadata.PackageNotFoundError:
        return "unknown"


def prefix_length(record: EpisodeRecord) -> int:
    """Return how many actions were taken before the first step that counts."""
    return len(next(iter(record.prefix.values()), ()))


def pack_episodes(records: Sequence[EpisodeRecord]) -> bytes:
    """Return the bytes of a file with these episodes, which all have the same origin."""
    origin = records[0].origin
    if any(record.origin is not origin and record.origin != origin for record in records):
        raise ValueError("episodes of several origins cannot be in one file")
    meta = {"origin": origin.to_dict(), "episodes": [record.facts() for record in records]}
    groups = {"actions": _joined([r.actions for r in records]), "prefix": _joined([r.prefix for r in records])}
    return packed_archive(KIND, meta, groups)


def write_episodes(path: Path, records: Sequence[EpisodeRecord]) -> None:
    """Write a file with these episodes, whole or not at all."""
    write_atomic(path, pack_episodes(records))


def read_episodes(path: str | Path) -> list[EpisodeRecord]:
    """Return the episodes of a file; one that is none, is damaged or holds nonsense raises EpisodeFileError."""
    try:
        return _records(*read_archive(path, KIND, MOST_BYTES), str(path))
    except ModelFileError as error:
        older = f"a {_OLD_KIND} file" in str(error)
        advice = "; it was written before Parcade kept seeds and actions: record it again" if older else ""
        raise EpisodeFileError(f"{error}{advice}") from None


def unpack_episodes(packed: bytes, where: str) -> list[EpisodeRecord]:
    """Return what ``pack_episodes`` packed; ``where`` is what messages call it."""
    try:
        return _records(*unpacked_archive(io.BytesIO(packed), len(packed), KIND, where), where)
    except ModelFileError as error:
        raise EpisodeFileError(str(error)) from None


def _records(meta: dict[str, Any], groups: dict[str, Arrays], where: str) -> list[EpisodeRecord]:
    try:
        origin, told = _origin(meta["origin"]), meta["episodes"]
        if not isinstance(told, list) or not 1 <= len(told) <= MOST_EPISODES:
            raise ValueError(f"it holds no list of 1 to {MOST_EPISODES:,} episodes")
        facts = [checked_facts(one) for one in told]
        actions = _split(groups["actions"], [one["length"] for one in facts])
        prefixes = _split(groups["prefix"], [one.pop("prefix") for one in facts])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EpisodeFileError(f"{where} is no file of episodes that can be played: {short(str(error), 200)}") from None
    parts = zip(facts, actions, prefixes, strict=True)
    return [EpisodeRecord(origin, actions=taken, prefix=before, **one) for one, taken, before in parts]


def compact(actions: Mapping[str, Any]) -> Arrays:
    """Return actions in as few bytes as their numbers need; a replay gives them the kind of its action space again.

    >>> compact({"obs": np.array([3, 0, 7])})["obs"].dtype
    dtype('uint8')
    """
    return {leaf: _narrow(np.asarray(array)) for leaf, array in actions.items()}


def _narrow(array: Any) -> Any:
    if array.dtype.kind not in "iu":
        return array
    least, most = int(array.min(initial=0)), int(array.max(initial=0))
    kinds = (np.dtype(name) for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32"))
    fitting = (kind for kind in kinds if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
    return array.astype(next(fitting, array.dtype))


def _joined(parts: Sequence[Arrays]) -> Arrays:
    """Return the arrays of all episodes one behind the other; their lengths stand in the meta data."""
    names = dict.fromkeys(name for part in parts for name in part)
    return compact({name: np.concatenate([part[name] for part in parts if name in part]) for name in names})


def _split(arrays: Arrays, lengths: list[int]) -> list[Arrays]:
    total = sum(lengths)
    if any(array.ndim < 1 or len(array) != total or array.dtype.kind not in "biuf" for array in arrays.values()):
        raise ValueError("it has another number of actions than its episodes have steps")
    if any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("one of its actions is no number")
    if not arrays and total:
        raise ValueError("it has steps without actions")
    found, first = [], 0
    for length in lengths:
        found.append({name: array[first : first + length] for name, array in arrays.items()} if length else {})
        first += length
    return found


def _origin(told: Any) -> EpisodeOrigin:
    text = {"parcade", "player"}
    texts_or_none = {"rom_sha1", "state_sha1"}
    fits = (
        isinstance(told["env"], dict)
        and all(isinstance(told[name], str) and len(told[name]) <= 100 for name in text)
        and all(told[name] is None or (isinstance(told[name], str) and len(told[name]) == 40) for name in texts_or_none)
        and isinstance(told["holds_all_states"], bool)
    )
    if not fits:
        raise ValueError(f"it was played in {short(told)}, which is no env")
    return EpisodeOrigin(**{part.name: told[part.name] for part in fields(EpisodeOrigin)})


def checked_facts(told: Any) -> dict[str, Any]:
    """Return the facts of one episode; keys that a later Parcade may add are left out, nonsense raises."""
    whole = {name: told[name] for name in ("seed", "length", "prefix")}
    places = {name: told[name] for name in ("number", "slot", "slot_episode", "env_steps")}
    flags = {name: told[name] for name in ("terminated", "truncated")}
    metrics = told["metrics"]
    fits = (
        all(_is_count(value) for value in whole.values())
        and all(value is None or _is_count(value) for value in places.values())
        and all(isinstance(value, bool) for value in flags.values())
        and _is_number(told["total_reward"])
        and all(isinstance(name, str) and _is_number(value) for name, value in metrics.items())
    )
    if not fits:
        raise ValueError(f"an episode of it is {short(told)}")
    return {**whole, **places, **flags, "total_reward": float(told["total_reward"]), "metrics": metrics}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST
