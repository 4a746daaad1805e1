"""Keeps where the games of a training were: counted seldom, written seldom, and once more at the end."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from parcade.errors import RunError
from parcade.pool.pool import Pool
from parcade.pool.trails import TrailReader
from parcade.run.places import Places, load_places

EVERY_S = 30.0  # between two writings


class PlaceKeeper:
    """Reads the trails and writes places.zip; a folder that cannot be written has no map afterwards."""

    def __init__(self, run: Path, pool: Pool, life: str, pictures: str) -> None:
        self._run = run
        self._trails = TrailReader(pool.showcase, pool.shares)
        self._places = _kept(run, pool.n_envs)
        self._places.life, self._places.pictures = life, pictures
        self._written_s = time.monotonic()

    def look(self) -> None:
        """Follow the training; most of the time it is not worth a look."""
        if time.monotonic() - self._written_s > EVERY_S or self._trails.is_half_full():
            self.write()

    def write(self) -> None:
        """Count what is new and write all of it, if there is anything."""
        self._written_s = time.monotonic()
        places, before = self._places, sum(self._trails.ends)
        for slot, new, names in self._trails.read_on():
            places.add(slot, new, names)
        places.ends = self._trails.ends
        if sum(places.ends) > before:
            with contextlib.suppress(OSError):
                places.save(self._run)


def _kept(run: Path, n_envs: int) -> Places:
    """Return what the run's folder holds of an earlier life, else nothing."""
    try:
        found = load_places(run)
    except RunError:
        found = None
    return found if found is not None and found.n_envs == n_envs else Places(n_envs)
