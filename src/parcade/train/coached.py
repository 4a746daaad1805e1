"""From settings to a training's coach, and what a training does when its guide is exchanged."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from parcade.config.coach_fields import coach_settings
from parcade.config.settings import TrainSettings
from parcade.env.make import make_game
from parcade.env.milestones import told_milestones, tracked_milestones
from parcade.env.spec import EnvSpec
from parcade.game.guide import without_rewards
from parcade.host.input_file import parse_json, read_input
from parcade.run.coach_record import CoachRecord
from parcade.run.directory import RunFolder, write_json
from parcade.train import events
from parcade.train.coach_asking import check_installed
from parcade.train.coaching import Coach, Guide

if TYPE_CHECKING:
    from parcade.train.training import Training

log = logging.getLogger("parcade.train")
_LARGEST = 4 << 20  # of a manifest


def coach_of(settings: TrainSettings, spec: EnvSpec, folder: RunFolder, tell: events.Listener) -> Coach | None:
    """Return the coach of a training, if one was asked for."""
    if not settings.coach:
        return None
    assert spec.guide is not None
    check_installed(settings)
    own = coach_settings(settings.coach)
    named = {name: getattr(spec, name) for name in ("game", "rom", "state") if getattr(spec, name) is not None}
    about: dict[str, Any] = {
        "run": str(folder.path.resolve()),
        "game": spec.game,
        "game_options": dict(spec.game_options),
        "named": named,
        "rounds": own.rounds,
        "llm": settings.llm,
        "llm_model": settings.llm_model,
        "llm_key_env": settings.llm_key_env,
        "llm_seconds": settings.llm_seconds,
    }
    record = CoachRecord(folder.path, settings.coach_replay)
    return Coach(own, spec.guide, make_game(spec), record, about, tell, asks=settings.coach_replay is None)


def use_guide(training: Training, guide: Guide) -> None:
    """Evaluate, name and write down with another guide from now on; the pool follows it by itself."""
    training.spec = training.spec.with_(guide=guide)
    training.eval_spec = training.eval_spec.with_(guide=without_rewards(guide))
    training.judge.spec = training.eval_spec
    training.results.use(training.spec)
    training.rollouts.milestones = tracked_milestones(training.spec)
    _rename_milestones(training.folder, training.spec)


def _rename_milestones(folder: RunFolder, spec: EnvSpec) -> None:
    """Have the manifest name the milestones of the present guide, for pages and reports."""
    try:
        told = parse_json(read_input(folder.manifest, _LARGEST))
        write_json(folder.manifest, {**told, "milestones": [one._asdict() for one in told_milestones(spec)]})
    except (OSError, ValueError, TypeError) as error:
        log.warning("%s does not name the milestones that the coach changed: %s", folder.manifest, error)
