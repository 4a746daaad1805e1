"""Training from a person's settings: the function behind ``parcade.train``."""

from __future__ import annotations

from typing import Any

from parcade.config.settings import TrainSettings
from parcade.env.spec import Watch
from parcade.errors import SettingsError, UserError
from parcade.host.own_modules import refuse_while_importing
from parcade.run.directory import RunFolder
from parcade.train.events import Listener
from parcade.train.given import settings_for
from parcade.train.opening import Machines
from parcade.train.policy_file import load_policy
from parcade.train.python_env import PythonEnv, named_env
from parcade.train.results import TrainResult
from parcade.train.training import Training


def train(
    settings: TrainSettings | None = None,
    *,
    env: PythonEnv | None = None,
    on_event: Listener | None = None,
    watch: Watch | None = None,
    machines: Machines | None = None,
    **given: Any,
) -> TrainResult:
    """Train and return what came of it; ``parcade.api.train`` tells what can be given.

    ``on_event`` is called with each event of ``parcade.train.events``; ``watch`` is the window that shows the
    games, ``machines`` are those of a cluster. No number depends on any of them.
    """
    refuse_while_importing("a training")
    named, factory = named_env(env)
    given |= named
    if settings is None:
        settings = settings_for(given)
    elif given:
        raise SettingsError("train takes a TrainSettings or single settings, not both")
    if settings.model is not None:
        load_policy(settings.model)  # what is wrong with the file is told before any game starts
    folder = RunFolder.create(settings.log_root, settings.name)
    with Training(settings, folder, on_event, watch, factory, machines) as training:
        try:
            training.begin()
        except UserError:
            training.leave_no_folder()
            raise
        return training.run()
