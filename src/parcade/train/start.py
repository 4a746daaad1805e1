"""Training from a person's settings: the function behind ``parcade.train``."""

from __future__ import annotations

from typing import Any

from parcade.config.settings import TrainSettings
from parcade.env.spec import Watch
from parcade.errors import SettingsError, UserError
from parcade.run.directory import RunFolder
from parcade.train.assembly import settings_for
from parcade.train.events import Listener
from parcade.train.python_env import PythonEnv, named_env
from parcade.train.results import TrainResult
from parcade.train.training import Training


def train(
    settings: TrainSettings | None = None,
    *,
    env: PythonEnv | None = None,
    on_event: Listener | None = None,
    watch: Watch | None = None,
    **given: Any,
) -> TrainResult:
    """Train and return what came of it; settings are fields of ``TrainSettings`` by name.

    ``train(game="lantern", total_timesteps=50_000, n_envs=8)``
    ``env`` is a title, a Gymnasium id, or a function that makes a ``gymnasium.Env``. No file can hold a function: such
    a run is resumed with ``resume(run, env=function)`` and its model evaluated with ``evaluate(model, env=function)``.
    ``on_event`` is called with each event of ``parcade.train.events``; ``watch`` says where the games lay their
    pictures for a window. No number depends on either.
    """
    named, factory = named_env(env)
    given |= named
    if settings is None:
        settings = settings_for(given)
    elif given:
        raise SettingsError("train takes a TrainSettings or single settings, not both")
    with Training(settings, RunFolder.create(settings.log_root, settings.name), on_event, watch, factory) as training:
        try:
            training.begin()
        except UserError:
            training.leave_no_folder()
            raise
        return training.run()
