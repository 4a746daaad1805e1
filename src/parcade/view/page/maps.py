"""Pictures of maps for the page: drawn by the title itself, once for each map and dungeon."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from parcade.env.atlas import Picture, draws_maps, map_picture
from parcade.env.spec import EnvSpec
from parcade.env.title_guard import TitleGuard, words_of
from parcade.errors import ParcadeError
from parcade.view.page.png import png

_MOST_KEPT = 64
_SAMPLES = 6  # dungeons whose mean stands for all of them
_LARGEST_SEED = 1 << 32


class Atlas:
    """Draws maps and keeps them; at most one at a time, for each needs an emulator."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int | None, str], bytes | None] = OrderedDict()
        self._lock = threading.Lock()

    def png(self, game: str, seed: int | None, name: str) -> bytes | None:
        """Return a built-in title's map as a PNG file; without a seed what all its episodes have in common."""
        if ":" in game or (seed is not None and not 0 <= seed < _LARGEST_SEED):
            return None  # a module that a run's folder names is never imported
        key = game, seed, name
        with self._lock:
            if key not in self._kept:
                self._kept[key] = _drawn(game, seed, name)
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def _drawn(game: str, seed: int | None, name: str) -> bytes | None:
    try:
        spec = EnvSpec(game=game)
        if not draws_maps(spec):
            return None
        picture = map_picture(spec, seed, name) if seed is not None else _common(spec, name)
    except ParcadeError:
        return None
    except Exception as error:  # a title's own code
        TitleGuard(game).leave_out("map_picture", words_of(error))
        return None
    return None if picture is None else png(picture)


def _common(spec: EnvSpec, name: str) -> Picture | None:
    """Return the map where it is the same for every seed, else the mean of a few."""
    first = map_picture(spec, 1, name)
    second = map_picture(spec, 2, name)
    if first is None or second is None or np.array_equal(first, second):
        return first
    more = [map_picture(spec, seed, name) for seed in range(3, 1 + _SAMPLES)]
    alike = [picture for picture in (first, second, *more) if picture is not None and picture.shape == first.shape]
    mean: Picture = np.mean(alike, axis=0).astype(np.uint8)
    return mean
