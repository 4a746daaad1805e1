"""The starts that a training's archive holds: listed, shown and written as save states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.env.console_env import ConsoleEnv
from parcade.env.foreign import ForeignSpec
from parcade.env.make import make
from parcade.env.milestones import tracked_milestones
from parcade.env.slot import as_slot_env, fresh_rows
from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError, SettingsError
from parcade.explore.archive import Archive, Entry
from parcade.explore.explorer import MOST_MILESTONES
from parcade.pool.block import MILESTONE_TRACKERS
from parcade.run.checkpoint import load_newest
from parcade.run.directory import RunFolder
from parcade.train.resume import noted_sums
from parcade.train.rollouts import EXPLORED


@dataclass(frozen=True, slots=True)
class FoundStart:
    """One start of an archive as a person sees it."""

    number: int  # in the order in which cells were found, from 1 on
    seed: int
    steps: int  # between the true start and this one
    reached: int
    chosen: int
    milestone: str | None  # that was reached there, where the archive keeps starts by milestones
    words: str | None  # the state in the title's words
    picture: npt.NDArray[np.uint8] | None  # (height, width, 3)


class StartsOfRun:
    """The archive of a run's newest checkpoint."""

    def __init__(self, run: str | Path, named: Mapping[str, Any] | None = None) -> None:
        folder = RunFolder.open(run)
        checkpoint = load_newest(folder.checkpoints)
        mark = f"{EXPLORED}archive/"
        kept = {name.removeprefix(mark): array for name, array in checkpoint.pool.items() if name.startswith(mark)}
        if not kept:
            raise SettingsError(f"{run} keeps no archive; train with --archive-share to find starts")
        archive = Archive("uniform", 1)
        try:
            archive.load_state(kept)
            described = EnvSpec.from_dict(checkpoint.meta["model"]["env"])
        except (KeyError, IndexError, TypeError, ValueError, SettingsError) as error:
            raise ModelFileError(f"the newest checkpoint of {run} holds no archive that can be read: {error}") from None
        self.spec = ForeignSpec(described, str(run)).accepted(named or {}, noted_sums(folder))
        self.entries: dict[int, Entry] = {entry.found: entry for entry in archive.entries.values()}
        self._milestones = _milestone_names(self.spec)

    def ordered(self, order: str, most: int) -> list[int]:
        """Return the numbers of the first ``most`` starts: newest, rarest or farthest first."""
        keys = {
            "found": lambda number: -number,
            "reached": lambda number: (self.entries[number].reached, -number),
            "steps": lambda number: (-self.entries[number].start.n_steps, -number),
        }
        return sorted(self.entries, key=keys[order])[:most]

    def show(self, numbers: list[int]) -> Iterator[FoundStart]:
        """Walk to each start and look around."""
        env = make(self.spec.with_(render=True))
        try:
            for number in numbers:
                self._walk(env, number)
                yield self._found(env, number)
        finally:
            env.close()

    def _found(self, env: Any, number: int) -> FoundStart:
        entry = self.entries[number]
        is_console = isinstance(env, ConsoleEnv)
        words = env.words() if is_console else None
        picture = env.render() if is_console else None
        start = entry.start
        milestone = self._milestones.get(entry.milestone)
        return FoundStart(number, start.seed, start.n_steps, entry.reached, entry.chosen, milestone, words, picture)

    def save_state(self, number: int) -> bytes:
        """Return a start as a save state for ``--state``."""
        if number not in self.entries:
            raise SettingsError(f"there is no start {number}; `parcade starts` lists the {len(self.entries)} there are")
        env = make(self.spec)
        try:
            if not isinstance(env, ConsoleEnv):
                raise SettingsError(f"{self.spec.label} has no console; only starts of games can be save states")
            self._walk(env, number)
            return env.console.save()
        finally:
            env.close()

    def _walk(self, env: Any, number: int) -> None:
        start, slot_env = self.entries[number].start, as_slot_env(env)
        rows = fresh_rows(slot_env.observation_space)
        slot_env.begin(start.seed, rows)
        (actions,) = start.actions.values()
        for action in actions:
            slot_env.advance(action, rows)


def _milestone_names(spec: EnvSpec) -> dict[int, str]:
    """Return the names of milestones by the numbers that an archive gives them."""
    told = tracked_milestones(spec)
    return {
        which * MOST_MILESTONES + bit: milestone.name
        for which, tracker in enumerate(MILESTONE_TRACKERS)
        for bit, milestone in enumerate(told.get(tracker, ()))
    }
