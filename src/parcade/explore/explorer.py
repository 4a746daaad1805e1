"""What happens between two rollouts: bonuses are paid, starts are found, and the next episodes get theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from parcade.errors import ModelFileError
from parcade.explore.archive import Archive, pack_starts, unpack_starts
from parcade.explore.backward import BackwardStarts
from parcade.explore.lineage import Lineage, Segment
from parcade.explore.novelty import CountNovelty
from parcade.explore.picture_cells import picture_cells, picture_leaf
from parcade.pool.actions import ActionWriter
from parcade.pool.block import MILESTONE_TRACKERS, Block
from parcade.pool.pool import Pool
from parcade.pool.seeding import EpisodesFromStarts, Start

if TYPE_CHECKING:
    from parcade.explore.prediction import PredictionNovelty

AHEAD = 8  # episodes of a slot that get a start before a rollout; those after them begin at their true start
MOST_MILESTONES = 64  # of a title, and of a guide
Arrays = dict[str, npt.NDArray[Any]]
Choose = Callable[[np.random.Generator], Start | None]
StartOf = Mapping[tuple[int, int], Start]


@dataclass(frozen=True, slots=True)
class ExploreSettings:
    """What a training explores with; the settings of the same names explain them."""

    archive_share: float = 0.0
    archive_strategy: str = "count"
    archive_size: int = 2_000
    novelty: float = 0.0
    novelty_kind: str = "episodic"
    cells: str = "state"
    backward_share: float = 0.0


class Part(Protocol):
    """What keeps something from rollout to rollout."""

    def state(self) -> Arrays:
        """Return everything as plain arrays."""
        ...

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what ``state`` returned."""
        ...


class Explorer:
    """Looks at every block in slot order, so nothing depends on who played it; ``state`` is all it knows."""

    def __init__(
        self, settings: ExploreSettings, pool: Pool, seed: int, demonstrations: list[Start] | None = None
    ) -> None:
        self._settings, self.pool, self._seed = settings, pool, seed
        self.archive = Archive(settings.archive_strategy, settings.archive_size) if settings.archive_share else None
        by_counts = settings.novelty > 0 and settings.novelty_kind != "rnd"
        self._novelty = CountNovelty(settings.novelty_kind, pool.n_envs) if by_counts else None
        self._predicted = _learned_novelty(pool.block, seed) if settings.novelty and not by_counts else None
        self.backward = BackwardStarts(demonstrations) if demonstrations else None
        self._starts: dict[tuple[int, int], Start] = {}
        self._lineage: Lineage | None = None
        self._rollouts = 0
        self.told: dict[str, float] = {}  # of the last block

    def begin(self) -> None:
        """Stand where the pool stands: after a reset, or after its slots were brought back."""
        journal = self.pool.progress.journal
        episodes = [int(number) for number in journal.episode]
        self._lineage = Lineage([self._stand(slot, episode) for slot, episode in enumerate(episodes)], episodes)
        if self._rollouts == 0:
            self._deal(episodes)

    def _stand(self, slot: int, episode: int) -> Start:
        """Return what a slot has done since the true start of its present episode."""
        start, taken = self._starts.get((slot, episode)), self.pool.progress.journal.actions(slot)
        if start is None:
            return Start(self._seed_of(slot, episode), taken)
        return Start(start.seed, {leaf: np.concatenate([start.actions[leaf], rows]) for leaf, rows in taken.items()})

    def _seed_of(self, slot: int, episode: int) -> int:
        seed = self.pool.episodes.seed(slot, episode)
        assert seed is not None  # a training's episodes have no end
        return seed

    def after(self, block: Block) -> None:
        """Take a block in: its rewards get their bonuses, the next episodes their starts."""
        if self._lineage is None:
            self.begin()
        assert self._lineage is not None
        cells, new, paid = self._cells(block), self._new_milestones(block), 0.0
        if self._predicted is not None:
            bonus = self._predicted.bonuses(block) * self._settings.novelty
            block.reward += bonus
            paid = float(bonus.sum())
        for segment in self._lineage.follow(block, self._starts, self._seed_of):
            slot = segment.slot
            paid += self._take(block, segment, None if cells is None else cells[slot], [] if new is None else new[slot])
        self._rollouts += 1
        self._deal([int(number) for number in block.episode[-1]])
        self._tell(paid / block.env_steps)

    def _cells(self, block: Block) -> list[list[int]] | None:
        """Return the cells each slot's rows led to, as plain numbers."""
        if self.archive is None and self._novelty is None:
            return None
        if self._settings.cells == "state":
            assert block.cell is not None
            columns: list[list[int]] = block.cell.T.tolist()
            return columns
        leaf = picture_leaf(block.obs)
        assert leaf is not None
        return [picture_cells(block.obs[leaf][1:, slot]).tolist() for slot in range(block.n_envs)]

    def _new_milestones(self, block: Block) -> list[list[int]] | None:
        """Return the milestones each slot's rows reached as bits: the title's, and from 64 on those of its guide."""
        if self.archive is None or self._settings.archive_strategy != "milestone":
            return None
        own, guided = (block.new_milestones[name].T.tolist() for name in MILESTONE_TRACKERS)
        return [
            [a | b << MOST_MILESTONES for a, b in zip(*both, strict=True)] for both in zip(own, guided, strict=True)
        ]

    def _take(self, block: Block, segment: Segment, cells: list[int] | None, new: list[int]) -> float:
        rows, paid = slice(segment.first, segment.stop), 0.0
        here = [] if cells is None else cells[rows]
        if self._novelty is not None:
            bonus = self._novelty.bonuses(segment, here) * self._settings.novelty
            block.reward[rows, segment.slot] += bonus
            paid = float(bonus.sum())
        if self.archive is not None:
            self.archive.take(block, segment, here, new[rows])
        if self.backward is not None and segment.ended:
            self.backward.note(segment, block, self._starts.get((segment.slot, segment.episode)))
        return paid

    def _deal(self, episodes: list[int]) -> None:
        """Choose where the next episodes of every slot begin; those under way keep the start they had."""
        kept = {key: self._starts[key] for key in enumerate(episodes) if key in self._starts}
        rng = np.random.default_rng([self._seed, self._rollouts])
        for choose, share in self._sources():
            for slot, episode in enumerate(episodes):
                for number in range(episode + 1, episode + 1 + AHEAD):
                    start = choose(rng) if rng.random() < share and (slot, number) not in kept else None
                    if start is not None:
                        kept[slot, number] = start
        self._starts = kept
        if kept or isinstance(self.pool.episodes, EpisodesFromStarts):
            self.pool.begin_from(kept)

    def _sources(self) -> list[tuple[Choose, float]]:
        found: list[tuple[Choose, float]] = []
        if self.backward is not None:
            found.append((self.backward.choose, self._settings.backward_share))
        if self.archive is not None:
            found.append((self.archive.choose, self._settings.archive_share))
        return found

    def _tell(self, bonus_mean: float) -> None:
        self.told = {}
        if self._settings.novelty:
            self.told["novelty_mean"] = bonus_mean
        if self.archive is not None:
            self.told["archive_cells"] = float(len(self.archive.entries))
        if self.backward is not None:
            self.told |= self.backward.told()

    @property
    def _parts(self) -> dict[str, Part]:
        """What was asked for, by the names in a checkpoint."""
        novelty = self._predicted if self._novelty is None else self._novelty
        named = {"archive": self.archive, "novelty": novelty, "backward": self.backward}
        return {name: part for name, part in named.items() if part is not None}

    def state(self) -> Arrays:
        """Return everything as plain arrays, by names with a part before the slash."""
        keys = np.array(list(self._starts), np.int64).reshape(len(self._starts), 2)
        parts = {
            "starts": {"keys": keys, "rollouts": np.array([self._rollouts]), **pack_starts([*self._starts.values()])}
        }
        parts |= {name: part.state() for name, part in self._parts.items()}
        return {f"{name}/{key}": array for name, part in parts.items() for key, array in part.items()}

    def load_state(self, state: Mapping[str, npt.NDArray[Any]]) -> StartOf:
        """Go back to what ``state`` returned; return the starts of the episodes under way and to come."""
        parts: dict[str, Arrays] = {}
        for key, array in state.items():
            name, _, rest = key.partition("/")
            parts.setdefault(name, {})[rest] = array
        try:
            starts, keys = unpack_starts(parts["starts"]), _keys_of(parts["starts"]["keys"], self.pool.n_envs)
            for kept in ("starts", "archive"):
                _check_actions(parts.get(kept, {}), self.pool)
            self._rollouts = int(parts["starts"]["rollouts"][0])
            np.random.default_rng([self._seed, self._rollouts])  # refuses what is no number of rollouts
            for name, part in self._parts.items():
                part.load_state(parts[name])
            self._starts = dict(zip(keys, starts, strict=True))
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise ModelFileError(f"the checkpoint does not match this training's exploration ({error})") from None
        self._lineage = None
        return self._starts


def _keys_of(array: npt.NDArray[Any], n_envs: int) -> list[tuple[int, int]]:
    """Return slot and episode of each start; what is neither raises ValueError."""
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype != np.int64:
        raise ValueError(f"keys of {array.dtype} and shape {array.shape}")
    if len(array) and (array.min() < 0 or array[:, 0].max() >= n_envs):
        raise ValueError("starts of unknown slots")
    return [(slot, episode) for slot, episode in array.tolist()]


def _check_actions(part: Arrays, pool: Pool) -> None:
    """Refuse starts whose actions this env does not take: they would be found wrong only when they are played."""
    taken = {name.removeprefix("taken:"): array for name, array in part.items() if name.startswith("taken:")}
    if not taken:
        return
    ActionWriter(pool.action_space).check(taken)
    for leaf, array in taken.items():
        if array.dtype != pool.block.action[leaf].dtype:
            raise ValueError(f"actions of {array.dtype}, wanted {pool.block.action[leaf].dtype}")


def _learned_novelty(block: Block, seed: int) -> PredictionNovelty:
    from parcade.explore.prediction import PredictionNovelty  # torch, which counts do not need

    return PredictionNovelty(block.obs, seed)
