"""Maps of a run that is over, put together from its kept episodes: they are played again in the background, once."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from parcade.env.console_env import ConsoleEnv
from parcade.env.exhibit import with_alpha
from parcade.env.replay import EpisodeReplay, open_replay
from parcade.errors import ParcadeError
from parcade.run.kept_episodes import read_index
from parcade.view.page.replaying import kept_episode
from parcade.view.page.seen_maps import SeenMaps

MOST_RUNS = 2  # whose maps stay in memory
MOST_EPISODES = 12
MOST_STEPS = 40_000  # of all episodes together
_KINDS = ("first", "best", "newest", "worst")  # in this order


class RetoldMaps:
    """Begins to put a run's maps together when somebody first asks for one; one run at a time."""

    def __init__(self) -> None:
        self._maps: dict[Path, SeenMaps] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def of(self, run: Path) -> SeenMaps:
        """Return what there is of a run's maps by now."""
        with self._lock:
            found = self._maps.pop(run, None)
            if found is None:
                found = SeenMaps()
                threading.Thread(target=self._tell, args=(run, found), daemon=True).start()
            self._maps[run] = found  # the one asked for last stands last
            while len(self._maps) > MOST_RUNS:
                del self._maps[next(iter(self._maps))]
            return found

    def _tell(self, run: Path, maps: SeenMaps) -> None:
        left = MOST_STEPS
        with self._turn:
            for number in chosen_episodes(run):
                if left <= 0 or not self._is_wanted(run, maps):
                    return
                try:
                    record, where = kept_episode(run, number)
                    with open_replay(record, where) as replay:
                        left -= _lay(replay, maps, left)
                except ParcadeError:  # one that is not kept any more, or whose game is not at hand
                    continue

    def _is_wanted(self, run: Path, maps: SeenMaps) -> bool:
        """Whether these are still the maps of a run that somebody asks for."""
        with self._lock:
            return self._maps.get(run) is maps


def chosen_episodes(run: Path) -> list[int]:
    """Return the numbers of the episodes that show most of a run's maps, each once."""
    try:
        kinds = read_index(run / "episodes").to_dict()["kinds"]
    except ParcadeError:
        return []
    return list(dict.fromkeys(number for kind in _KINDS for number in kinds.get(kind, ())))[:MOST_EPISODES]


def _lay(replay: EpisodeReplay, maps: SeenMaps, most: int) -> int:
    """Lay an episode's pictures on their maps; return the steps it took."""
    env = replay.env.unwrapped
    if not isinstance(env, ConsoleEnv):
        return 0
    last = None
    while replay.position < most and replay.step():
        place = env.game.screen_place(env.state)
        if place is not None and place != last:  # a screen that has not moved shows nothing new
            pixels = np.ascontiguousarray(with_alpha(np.ascontiguousarray(replay.picture())))
            maps.add(place.map, place.left, place.top, pixels.view(np.uint32)[: place.height, :, 0])
        last = place
    return replay.position
