"""Training from a person's settings: the function behind ``parcade.train``."""

from __future__ import annotations

from typing import Any

from parcade.config.settings import TrainSettings
from parcade.env.spec import Watch
from parcade.errors import SettingsError, UserError
from parcade.run.directory import RunFolder
from parcade.train.assembly import settings_for
from parcade.train.events import Listener
from parcade.train.results import TrainResult
from parcade.train.training import Training


def train(
    settings: TrainSettings | None = None, *, on_event: Listener | None = None, watch: Watch | None = None, **given: Any
) -> TrainResult:
    """Train and return what came of it; settings are fields of ``TrainSettings`` by name.

    ``train(game="lantern", total_timesteps=50_000, n_envs=8)``
    ``on_event`` is called with each event of ``parcade.train.events``; ``watch`` says where the games lay their
    pictures for a window. No number depends on either.
    """
    if settings is None:
        settings = settings_for(given)
    elif given:
        raise SettingsError("train takes a TrainSettings or single settings, not both")
    with Training(settings, RunFolder.create(settings.log_root, settings.name), on_event, watch) as training:
        try:
            training.begin()
        except UserError:
            training.leave_no_folder()
            raise
        return training.run()
