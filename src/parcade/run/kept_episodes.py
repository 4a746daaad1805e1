"""The folder ``episodes/`` of a run: a file for each kept episode, and an index that says why it is kept."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parcade.errors import EpisodeFileError, ModelFileError
from parcade.host.input_file import parse_json, read_input
from parcade.run.archive import Arrays
from parcade.run.atomic import write_atomic
from parcade.run.episodes import EpisodeRecord, checked_facts, pack_episodes, read_episodes, unpack_episodes
from parcade.run.kept_choice import KINDS, Candidate, KeptChoice, is_state

log = logging.getLogger("parcade.run")
INDEX, LARGEST_INDEX = "index.json", 16 << 20
WAITING = "waiting"
MB = 1_000_000
_FILE = re.compile(r"episode_(\d{9})\.zip")
_FLUSH_S = 1.0  # files are written no more often than this,
_FLUSH_SHARE = 200  # and take one part in so many of the time


class KeptEpisodes:
    """Keeps episodes while a training goes on. What the folder holds follows from the episodes alone, not from when.

    Files never change. One that is no longer kept is removed as soon as the newest checkpoint does not name it: so a
    resumed run finds all that its checkpoint names.
    """

    def __init__(self, folder: Path, budget_mb: float, milestones: Mapping[str, str]) -> None:
        self._folder, self._budget = folder, int(budget_mb * MB)
        self._choice = KeptChoice(milestones)
        self._facts: dict[int, dict[str, Any]] = {}  # of every kept episode
        self._sizes: dict[int, int] = {}
        self._waiting: dict[int, EpisodeRecord] = {}  # not yet written
        self._named: set[int] = set()  # by the newest checkpoint
        self._next_s, self._is_stuck, self._is_changed = 0.0, False, False

    def offer(self, candidates: Sequence[Candidate], take: Callable[[int], EpisodeRecord]) -> None:
        """Look at the episodes of an update; ``take`` returns the one with a number, and is asked for few."""
        if not self._budget or not candidates:
            return
        choice = self._choice
        choice.offer(candidates)
        for number in sorted(choice.numbers - self._facts.keys()):
            self._waiting[number] = record = take(number)
            self._note(number, record)
        choice.trim(self._sizes, self._budget)
        self._forget()
        self._is_changed = True
        if time.monotonic() >= self._next_s:
            self.flush()

    def _note(self, number: int, record: EpisodeRecord) -> None:
        self._facts[number], self._sizes[number] = record.facts(), bytes_of(record)

    def _forget(self) -> None:
        kept = self._choice.numbers
        for known in (self._facts, self._sizes, self._waiting):
            for number in known.keys() - kept:
                del known[number]

    def flush(self) -> None:
        """Write what is new; on a full disk it waits, and the training goes on."""
        if not self._is_changed:
            return
        started_s = time.monotonic()
        try:
            self._write()
            self._is_stuck = self._is_changed = False
        except OSError as error:
            if not self._is_stuck:
                log.warning("the episodes of %s cannot be written (%s); they wait", self._folder, error.strerror)
            self._is_stuck = True
        now_s = time.monotonic()
        self._next_s = now_s + max(_FLUSH_S, _FLUSH_SHARE * (now_s - started_s))

    def close(self) -> None:
        """Write what is left, and remove what nothing names any more; more may come after it."""
        self._is_changed = bool(self._facts)
        self.flush()

    def _write(self) -> None:
        self._folder.mkdir(exist_ok=True)
        for number in list(self._waiting):
            write_atomic(self._folder / file_name(number), pack_episodes([self._waiting[number]]), sync=False)
            del self._waiting[number]
        write_atomic(self._folder / INDEX, json.dumps(self.index(), sort_keys=True).encode(), sync=False)
        self._remove_others(self._choice.numbers | self._named)

    def _remove_others(self, kept: set[int]) -> None:
        for path in self._folder.glob("episode_*.zip"):
            found = _FILE.fullmatch(path.name)
            if found is not None and int(found[1]) not in kept:
                path.unlink(missing_ok=True)

    def index(self) -> dict[str, Any]:
        """Return what ``index.json`` holds: the numbers by kind, the most interesting first, and the facts of each."""
        choice = self._choice
        rows = [
            {**self._facts[number], "file": file_name(number), "kinds": choice.kinds_of(number)}
            | {"first": choice.milestones_of(number)}
            for number in sorted(self._facts)
        ]
        return {"format": 1, **choice.state(), "episodes": rows}

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a checkpoint has to hold: which episodes are kept, and those that are not written yet."""
        return self._choice.state(), _packed(list(self._waiting.values()))

    def saved(self) -> None:
        """Note that a checkpoint with the present state is on the disk: what only older ones name can go soon."""
        self._named = self._choice.numbers

    @staticmethod
    def check(state: Any) -> None:
        """Raise ModelFileError unless ``load`` can take ``state``: it comes from a file."""
        if state is not None and not is_state(state):
            raise ModelFileError("its list of kept episodes cannot be read")

    def load(self, state: Mapping[str, Any] | None, arrays: Arrays) -> None:
        """Go back to ``state``, or to the beginning: files of later episodes are removed, lost ones are named."""
        if not self._budget:
            return
        state = KeptChoice({}).state() if state is None else state
        waiting = {record.number: record for record in _unpacked(arrays)}
        self._waiting, self._facts, self._sizes = {}, {}, {}
        for number in sorted({number for kind in KINDS for number in state["kinds"][kind]}):
            record = waiting.get(number) or self._read(number)
            if record is not None:
                self._note(number, record)
                self._waiting |= {number: record} if number in waiting else {}
        self._choice.load(state, {number: facts["total_reward"] for number, facts in self._facts.items()})
        self._named = set(self._facts) - set(self._waiting)
        if self._folder.is_dir():
            self._is_changed = True
            self.flush()

    def _read(self, number: int) -> EpisodeRecord | None:
        path = self._folder / file_name(number)
        try:
            (record,) = read_episodes(path)
            if record.number == number:
                return record
            why = f"{path} holds another episode"
        except (EpisodeFileError, ValueError) as error:
            why = str(error)
        log.warning("a kept episode is lost: %s", why)
        return None


def _packed(records: list[EpisodeRecord]) -> Arrays:
    """Return episodes as arrays; those of another origin, such as another guide, are packed apart."""
    groups: list[list[EpisodeRecord]] = []
    for record in records:
        same = next((group for group in groups if group[0].origin == record.origin), None)
        if same is None:
            groups.append([record])
        else:
            same.append(record)
    packed = [np.frombuffer(pack_episodes(group), np.uint8) for group in groups] or [np.zeros(0, np.uint8)]
    return {WAITING if number == 0 else f"{WAITING}_{number}": array for number, array in enumerate(packed)}


def _unpacked(arrays: Arrays) -> list[EpisodeRecord]:
    found: list[EpisodeRecord] = []
    for name in (name for name in arrays if name.startswith(WAITING)):
        packed = arrays[name].tobytes()
        try:
            found += unpack_episodes(packed, "the checkpoint") if packed else []
        except EpisodeFileError as error:
            log.warning("kept episodes are lost: %s", error)
    return found


def bytes_of(record: EpisodeRecord) -> int:
    """Return about how much room a kept episode takes, rather more than less: its file and its place in the index."""
    arrays = (*record.actions.values(), *record.prefix.values())
    return sum(array.nbytes for array in arrays) + 4000 + 200 * len(record.metrics)


def file_name(number: int) -> str:
    """Return the file of an episode.

    >>> file_name(12)
    'episode_000000012.zip'
    """
    return f"episode_{number:09d}.zip"


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """What a run has kept: numbers by kind, the most interesting first, and the facts of each episode by number."""

    folder: Path
    kinds: Mapping[str, list[int]]
    reached: Mapping[str, int]  # milestone -> the first episode that reached it
    facts: Mapping[int, Mapping[str, Any]]

    def load(self, number: int) -> EpisodeRecord:
        """Return one episode with its actions."""
        (record,) = read_episodes(self.folder / file_name(number))
        return record

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {"kinds": self.kinds, "reached": self.reached, "episodes": list(self.facts.values())}


def _is_row(row: Any, kinds: Mapping[str, list[int]]) -> bool:
    """Whether a row of the index tells an episode's facts, and why it is kept; nonsense may also raise."""
    facts, reasons = checked_facts(row), (row["kinds"], row["first"])
    words = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in reasons)
    return bool(facts["number"]) and words and all(facts["number"] in kinds[k] for k in row["kinds"])


def read_index(folder: Path) -> KeptIndex:
    """Return the index of a run's folder ``episodes/``; one that is missing or damaged raises EpisodeFileError."""
    path = folder / INDEX
    try:
        told = parse_json(read_input(path, LARGEST_INDEX))
        if not is_state(told) or not all(_is_row(row, told["kinds"]) for row in told["episodes"]):
            raise ValueError("it does not hold a list of episodes")
        facts = {row["number"]: row for row in told["episodes"]}
        kinds = {kind: [number for number in told["kinds"][kind] if number in facts] for kind in KINDS}
    except FileNotFoundError:
        raise EpisodeFileError(f"{folder} holds no kept episodes; no episode had ended, or episodes_mb was 0") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EpisodeFileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return KeptIndex(folder, kinds, dict(told["reached"]), facts)
