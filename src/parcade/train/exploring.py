"""From settings to what a training explores with."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np

from parcade.config.settings import TrainSettings
from parcade.env.make import make_game
from parcade.env.milestones import told_milestones
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.explore.explorer import Explorer, ExploreSettings
from parcade.explore.picture_cells import picture_leaf
from parcade.game.base import Game
from parcade.host.wording import counted
from parcade.pool.actor import Array
from parcade.pool.pool import Pool
from parcade.pool.seeding import Start
from parcade.run.episodes import EpisodeRecord
from parcade.train.demonstrations import load_demos

log = logging.getLogger("parcade.train")


def explores(settings: TrainSettings) -> bool:
    """Whether any setting asks for exploration."""
    return settings.novelty > 0 or settings.archive_share > 0 or goes_backward(settings)


def goes_backward(settings: TrainSettings) -> bool:
    """Whether episodes begin inside demonstrations."""
    return settings.algorithm == "ppo" and settings.demonstrations is not None and settings.backward_share > 0


def uses_cells(settings: TrainSettings) -> bool:
    """Whether anything that was asked for counts cells."""
    return settings.archive_share > 0 or (settings.novelty > 0 and settings.novelty_kind != "rnd")


def uses_milestones(settings: TrainSettings) -> bool:
    """Whether starts are chosen by the milestones that were reached there."""
    return settings.archive_share > 0 and settings.archive_strategy == "milestone"


def reads_cells(settings: TrainSettings) -> bool:
    """Whether the games say after each step in which cell they are, and which milestones it reached."""
    return (uses_cells(settings) and settings.cell_kind == "state") or uses_milestones(settings)


def check_exploring(settings: TrainSettings, spec: EnvSpec) -> None:
    """Refuse what cannot be explored with, before any game starts."""
    if uses_milestones(settings) and not told_milestones(spec):
        raise SettingsError(
            f"archive_strategy milestone needs milestones, and {spec.label} has none; write some (docs/add-a-game.md), "
            "give a guide, or use another strategy"
        )
    if not uses_cells(settings) or settings.cell_kind != "state":
        return
    if spec.game is None:
        raise SettingsError(
            f"{spec.label} has no cells to count or to begin at: only titles do; use cell_kind picture with pictures"
        )
    game = make_game(spec)
    if type(game).cell is Game.cell and type(game).place is Game.place:
        raise SettingsError(
            f"{game.name} does not say what a cell is (no method cell or place); use cell_kind picture with pixels"
        )


def explorer_of(settings: TrainSettings, pool: Pool, spec: EnvSpec) -> Explorer | None:
    """Return what explores beside the training, if anything was asked for."""
    if not explores(settings):
        return None
    if uses_cells(settings) and settings.cell_kind == "picture" and picture_leaf(pool.block.obs) is None:
        raise SettingsError("cell_kind picture needs pictures; use observation pixels or both, or cell_kind state")
    own = ExploreSettings(
        archive_share=settings.archive_share,
        archive_strategy=settings.archive_strategy,
        archive_size=settings.archive_size,
        novelty=settings.novelty,
        novelty_kind=settings.novelty_kind,
        cells=settings.cell_kind,
        backward_share=settings.backward_share,
    )
    return Explorer(own, pool, settings.seed * 2 + 1, _demonstrated(settings, spec, pool.block.action))


def _demonstrated(settings: TrainSettings, spec: EnvSpec, taken: Mapping[str, Array]) -> list[Start]:
    """Return the demonstrations as starts that lie at their ends; ``taken`` are actions as the pool holds them."""
    if not goes_backward(settings):
        return []
    limit, demos = _step_limit(spec), load_demos(str(settings.demonstrations))
    short = [record for record in demos if limit is None or record.length < limit]
    told = f"of {settings.demonstrations} reach max_steps {limit:,}" if limit is not None else ""
    if not short:
        raise SettingsError(
            f"all {counted(len(demos), 'episode')} {told}: no episode can begin near their ends; use more max_steps, "
            "or backward_share 0 to clone them only"
        )
    if len(short) < len(demos):
        words = "%d of %d episodes %s: they are cloned, but no episode begins near their ends"
        log.warning(words, len(demos) - len(short), len(demos), told)
    return [_start_at_end(record, taken) for record in short]


def _start_at_end(record: EpisodeRecord, taken: Mapping[str, Array]) -> Start:
    """Return where a demonstration ends; files keep choices in a byte, starts have the actions of the pool."""
    before = record.prefix or {leaf: rows[:0] for leaf, rows in record.actions.items()}
    joined = {leaf: np.concatenate([before[leaf], rows]) for leaf, rows in record.actions.items()}
    return Start(record.seed, {leaf: rows.astype(taken[leaf].dtype) for leaf, rows in joined.items()})


def _step_limit(spec: EnvSpec) -> int | None:
    if spec.max_steps is not None or spec.game is None:
        return spec.max_steps
    return make_game(spec).max_steps
